"""Where tests find the project and the data beside it."""

from __future__ import annotations

from pathlib import Path

import corefsample

PROJECT = Path(__file__).parents[1]
PACKAGES = Path(corefsample.__file__).parents[1]  # those that are tested: of the project, or installed
SHARED = PROJECT.parent / "shared"
GUM_SCORED = SHARED / "data" / "gum" / "gum-scored.jsonl.gz"
EN_GUM_UD = SHARED / "models" / "en_gum_ud"
EN_CORE_WEB_SM = SHARED / "models" / "en_core_web_sm"
TEST_DATA = PROJECT / "tests" / "data"

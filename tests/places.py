"""Where tests find the project and the data beside it."""

import re
from pathlib import Path

import corefsample

PROJECT = Path(__file__).parents[1]
PACKAGES = Path(corefsample.__file__).parents[1]  # those that are tested: of the project, or installed
SHARED = PROJECT.parent / "shared"
GUM_SCORED = SHARED / "data" / "gum" / "gum-scored.jsonl.gz"
EN_GUM_UD = SHARED / "models" / "en_gum_ud"
EN_CORE_WEB_SM = SHARED / "models" / "en_core_web_sm"
TEST_DATA = PROJECT / "tests" / "data"


def data_lines(name: str) -> list[str]:
    """Lines of a file of tests/data, without comments."""
    return [line for line in (TEST_DATA / name).read_text("utf-8").splitlines() if not line.startswith("#")]


def blocks(page: Path, language: str) -> list[str]:
    """The blocks of code in a language on a page."""
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.S)

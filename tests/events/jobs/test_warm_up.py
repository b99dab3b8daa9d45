"""Kernels compiled ahead are all those of the commands, of the same types."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from places import EN_GUM_UD, PROJECT

from corefsample import _jit
from events.jobs._main_kernels import COMMANDS, GROUPS

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT,  # type: ignore[attr-defined]
    reason="nothing is compiled",
)

# Prints the kernels that the commands call from Python and that have other signatures after than before.
PROGRAM = """
import sys
from events.jobs._compiling import load_kernels
from events.jobs._main_kernels import COMMANDS
from events.jobs.count_events import EventsOptions, run_events
from events.jobs.demo import run_demo
from events.jobs.scoring import ScoreOptions, run_score

def signatures():
    modules = [module for name, module in sys.modules.items() if name.endswith("kernels")]
    found = {value for module in modules for value in vars(module).values() if hasattr(value, "signatures")}
    return {kernel.py_func.__qualname__: len(kernel.signatures) for kernel in found}

load_kernels(*COMMANDS)
before = signatures()
folder = sys.argv[1]
news = run_demo(f"{folder}/demo", n_documents=40).news
for mentions in ("annotated", "parse"):
    run_score(news, f"{folder}/{mentions}.parquet", ScoreOptions(mentions=mentions))
run_events(f"{folder}/annotated.parquet", f"{folder}/run", EventsOptions(n_samples=100), pictures=False)
after = signatures()
print([name for name, number in after.items() if number != before.get(name, 0)])
"""


def test_the_commands_need_no_kernel_besides(tmp_path: Path) -> None:
    arguments = [sys.executable, "-c", PROGRAM, str(tmp_path)]
    finished = subprocess.run(arguments, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert finished.stdout.splitlines()[-1] == "[]"


# Prints the numbers of signatures of the kernels of sampled parses, compiled ahead and after use.
SAMPLED_PARSES = """
import sys
import spacy
from corefsample.mention_ranking import _reuse_kernels as reuse, english_model, score_parses
from corefsample.spacy_bridge import _transition_kernels as transitions, parse_samples
from corefsample.spacy_bridge.documents import tokens_of_doc
from events.jobs._compiling import load_kernels

load_kernels("score with sampled parses")
kernels = transitions.perturbed_scores, reuse.fill_known, reuse.fill_changed, reuse.score_again
before = [len(kernel.signatures) for kernel in kernels]
nlp = spacy.load(sys.argv[1])
parses = parse_samples(nlp, nlp.make_doc("They met."), 2)
score_parses(english_model(), [tokens_of_doc(parse) for parse in parses])
print(*before, *(len(kernel.signatures) for kernel in kernels))
"""


@pytest.mark.skipif(not EN_GUM_UD.exists(), reason="en_gum_ud is not there")
def test_sampled_parses_need_no_kernel_besides() -> None:
    arguments = [sys.executable, "-c", SAMPLED_PARSES, str(EN_GUM_UD)]
    finished = subprocess.run(arguments, cwd=PROJECT, capture_output=True, text=True, check=True)
    assert finished.stdout.split() == ["1"] * 8


def test_a_group_names_all_kernels_that_it_compiles() -> None:
    named = {id(kernel) for group in GROUPS.values() for kernel in group.kernels}
    assert len(named) == sum(len(group.kernels) for group in GROUPS.values())
    assert {name for groups in COMMANDS.values() for name in groups} == set(GROUPS)


def test_warm_up_says_where_the_kernels_are() -> None:
    arguments = [sys.executable, "-m", "events.commands", "warm-up", "--json"]
    finished = subprocess.run(arguments, cwd=PROJECT, capture_output=True, text=True, check=True)
    content = json.loads(finished.stdout)
    assert content["commands"] == ["score", "events", "demo", "report"]
    assert content["n_kernels"] == sum(len(group.kernels) for group in GROUPS.values())
    folders = {_jit.cache_folders(kernel)[0] for group in GROUPS.values() for kernel in group.kernels}
    assert set(content["folders"]) == folders
    assert all(list(Path(folder).glob("*.nbc")) for folder in folders)


def test_warm_up_without_a_compiler_is_an_error() -> None:
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    arguments = [sys.executable, "-m", "events.commands", "warm-up"]
    finished = subprocess.run(arguments, cwd=PROJECT, env=environment, capture_output=True, text=True, check=False)
    assert (finished.returncode, finished.stdout) == (1, "")
    assert finished.stderr.startswith("corefsample: a folder for compiled kernels must be writable")
    assert finished.stderr.count("\n") == 1

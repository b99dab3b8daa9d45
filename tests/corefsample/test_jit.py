"""Compiled kernels on disk: none is loaded that any changed source could have made different."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numba
import pytest
from places import PROJECT

pytestmark = pytest.mark.skipif(
    numba.config.DISABLE_JIT,  # type: ignore[attr-defined]
    reason="nothing is compiled",
)

# Prints what a kernel makes of 0, how many kernels were compiled, and whether what compiles was loaded.
PROGRAM = """
import sys, numpy as np
from {module} import {kernel} as kernel
words = np.zeros(1, np.uint64)
kernel(words)
print(words[0], sum(kernel.stats.cache_misses.values()), 'numba.np.arraymath' in sys.modules)
"""
KERNELS = "from corefsample._jit import inner_kernel, kernel\n\n\n"
INNER = KERNELS + "@inner_kernel\ndef inner(word):\n    return word + {added}\n"
OUTER = """from corefsample._jit import kernel
from {module} import inner


@kernel
def outer(words):
    words[0] = inner(words[0])
"""


def printed(folder: Path, program: str, environment: dict[str, str]) -> list[str]:
    """The words that a program prints in a new process."""
    arguments = [sys.executable, "-c", program]
    done = subprocess.run(arguments, cwd=folder, env=environment, capture_output=True, text=True, check=True)
    return done.stdout.split()


def result(folder: Path, module: str, kernel: str) -> tuple[int, int, bool]:
    """What a kernel computes in a new process, the number compiled there, and whether the compiler was loaded."""
    environment = {**os.environ, "PYTHONPATH": str(folder), "NUMBA_CACHE_DIR": str(folder / "cache")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # a source of the same size and second would be hidden by old bytecode
    value, n_compiled, has_compiler = printed(folder, PROGRAM.format(module=module, kernel=kernel), environment)
    return int(value), int(n_compiled), has_compiler == "True"


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """A folder with a copy of the package."""
    ignored = shutil.ignore_patterns("__pycache__", "data", "adapters", "plots")
    shutil.copytree(PROJECT / "corefsample", tmp_path / "corefsample", ignore=ignored)
    return tmp_path


def test_a_kernel_of_another_package_depends_on_both(copied: Path) -> None:
    """The caller keeps its file; numba alone would load its old machine code."""
    (copied / "corefsample" / "_inner_kernels.py").write_text(INNER.format(added=1))
    other = copied / "other"
    other.mkdir()
    (other / "__init__.py").write_text("")
    (other / "_codes.py").write_text("ADDED = 10\n")
    outer = OUTER.format(module="corefsample._inner_kernels") + "    words[0] += ADDED\n"
    (other / "_kernels.py").write_text("from other._codes import ADDED\n" + outer)
    assert result(copied, "other._kernels", "outer")[:2] == (11, 1)
    assert result(copied, "other._kernels", "outer")[:2] == (11, 0)
    (other / "_codes.py").write_text("ADDED = 20\n")
    assert result(copied, "other._kernels", "outer")[:2] == (21, 1)
    (copied / "corefsample" / "_inner_kernels.py").write_text(INNER.format(added=2))
    assert result(copied, "other._kernels", "outer")[:2] == (22, 1)
    no_source = copied / "corefsample" / "errors.py"
    no_source.write_text(f"{no_source.read_text()}\n# edited\n")
    assert result(copied, "other._kernels", "outer")[:2] == (22, 0)


def test_a_kernel_is_compiled_again_after_an_argument_type_was_renamed(copied: Path) -> None:
    """The old index cannot be read: it names a class that is gone, as after an upgrade."""
    types, kernels = copied / "corefsample" / "_types_codes.py", copied / "corefsample" / "_typed_kernels.py"
    caller = copied / "caller.py"
    types.write_text("from typing import NamedTuple\n\n\nclass Old(NamedTuple):\n    number: int\n")
    kernels.write_text(KERNELS + "@kernel\ndef typed(words, number):\n    words[0] = number.number\n")
    text = "from corefsample._types_codes import {name}\nfrom corefsample._typed_kernels import typed\n\n\n"
    text += "def called(words):\n    typed(words, {name}(7))\n\n\ncalled.stats = typed.stats\n"
    caller.write_text(text.format(name="Old"))
    assert result(copied, "caller", "called")[:2] == (7, 1)
    types.write_text(types.read_text().replace("Old", "New"))
    caller.write_text(text.format(name="New"))
    assert result(copied, "caller", "called")[:2] == (7, 1)
    assert result(copied, "caller", "called")[:2] == (7, 0), "loaded"


def test_a_compiled_kernel_is_loaded_without_the_compiler(copied: Path) -> None:
    """Numba would load its compiler before, with what SciPy has for it, in a third of a second."""
    (copied / "corefsample" / "_inner_kernels.py").write_text(INNER.format(added=1))
    outer = OUTER.format(module="corefsample._inner_kernels").replace("words[0])", "np.full(3, words[0])[1])")
    (copied / "corefsample" / "_outer_kernels.py").write_text("import numpy as np\n" + outer)
    runs = [result(copied, "corefsample._outer_kernels", "outer") for _ in range(2)]
    assert runs == [(1, 1, True), (1, 0, False)]


def test_without_a_folder_that_can_be_written_each_process_compiles(copied: Path) -> None:
    """No folder at all can be made below a file, neither for a superuser."""
    (copied / "corefsample" / "_inner_kernels.py").write_text(INNER.format(added=1))
    (copied / "corefsample" / "_outer_kernels.py").write_text(OUTER.format(module="corefsample._inner_kernels"))
    (copied / "file").write_text("")
    (copied / "corefsample" / "__pycache__").write_text("")
    nowhere = str(copied / "file")
    environment = {**os.environ, "PYTHONPATH": str(copied), "HOME": nowhere, "XDG_CACHE_HOME": nowhere}
    environment.pop("NUMBA_CACHE_DIR", None)
    program = PROGRAM.format(module="corefsample._outer_kernels", kernel="outer")
    for _ in range(2):
        assert printed(copied, program, environment)[:2] == ["1", "1"]


def test_many_threads_may_load_and_compile_at_once(copied: Path) -> None:
    program = """
import numpy as np
from concurrent.futures import ThreadPoolExecutor
from corefsample._random_kernels import splitmix64
def first_word(n):
    words = np.zeros(n, np.uint64)
    splitmix64(np.uint64(7), 0, words)
    return int(words[0])
with ThreadPoolExecutor(8) as pool:
    print(len(set(pool.map(first_word, range(1, 65)))), len(splitmix64.signatures))
"""
    environment = {**os.environ, "PYTHONPATH": str(copied), "NUMBA_CACHE_DIR": str(copied / "cache")}
    for _ in range(2):
        assert printed(copied, program, environment) == ["1", "1"]


def test_the_library_is_silent_by_default(capfd: pytest.CaptureFixture[str]) -> None:
    program = "import logging, corefsample; logging.getLogger('corefsample.files').warning('doubtful')"
    subprocess.run([sys.executable, "-c", program], cwd=PROJECT, check=True)
    assert capfd.readouterr() == ("", "")

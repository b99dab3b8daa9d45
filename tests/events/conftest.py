"""What tests of commands share."""

from pathlib import Path

import pytest
from command_line import Calls
from references import events as er, scoring as sr

from corefsample.documents._annotated import AnnotatedDocument


@pytest.fixture
def call(capsys: pytest.CaptureFixture[str]) -> Calls:
    return Calls(capsys)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """A file of ten hand-made documents."""
    return er.write_lines(tmp_path / "corpus.jsonl", er.corpus())


@pytest.fixture
def gold(tmp_path: Path, documents: list[AnnotatedDocument]) -> Path:
    """A file of the `documents` of a module."""
    return sr.corpus_file(tmp_path / "corpus.conllu", documents)

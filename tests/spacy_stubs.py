"""A spaCy Doc without spaCy, of the attributes that adapters read; and real pipelines, each loaded once."""

from collections.abc import Collection, Sequence
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from references import mention_ranking as ranking_references

from corefsample import Tokens


def stub_doc(text: str, words: Sequence[str], heads: Sequence[int], sentence_starts: Collection[int] = (0,)) -> Any:
    """A Doc of words in a text, each with the number of its head; that of a root is its own."""

    class Doc(list[Any]):
        vocab = spans = None

    doc, place = Doc(), 0
    doc.text = text  # type: ignore[attr-defined]
    for i, word in enumerate(words):
        place = text.index(word, place)
        end = place + len(word)
        space = " " if text[end : end + 1] == " " else ""
        names = {"text": word, "lemma_": word.lower(), "pos_": "X", "dep_": "dep", "whitespace_": space}
        doc.append(SimpleNamespace(**names, i=i, idx=place, is_sent_start=i in sentence_starts))
        place = end
    for token, head in zip(doc, heads, strict=True):
        token.head = doc[head]
    return doc


@cache
def loaded(path: Path) -> Any:
    """A pipeline that tests share: what a test adds to it, it removes."""
    spacy = pytest.importorskip("spacy")
    if not path.exists():
        pytest.skip(f"the pipeline {path.name} is missing")
    return spacy.load(path)


def parsed_doc(nlp: Any, scheme: str = "ud2") -> Any:
    """The text of all constructions as a Doc."""
    from corefsample.spacy_bridge.documents import doc_of_tokens

    return doc_of_tokens(ranking_references.parsed(ranking_references.PARSES[scheme]), nlp.vocab)


def add_parser(nlp: Any, tokens: Tokens) -> None:
    """Add a parser that knows one text, as the first component of a pipeline."""
    from spacy import Language

    from corefsample.spacy_bridge.documents import doc_of_tokens

    columns = ["POS", "LEMMA", "DEP", "HEAD", "SENT_START"]

    def parse(doc: Any) -> Any:
        assert [token.text for token in doc] == tokens.text
        doc.user_data.clear()
        return doc.from_array(columns, doc_of_tokens(tokens, doc.vocab).to_array(columns))

    name = f"parser_of_{len(tokens)}_words"  # spaCy keeps the first component of a name
    Language.component(name, func=parse, assigns=["token.dep"])
    nlp.add_pipe(name, first=True)

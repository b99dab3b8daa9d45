"""The component with n_parses: a Doc that holds several parses, each with its own posterior."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from places import EN_GUM_UD

from corefsample import ParameterError
from corefsample.spacy_bridge import parse_samples

TEXT = "Peter saw the man with the telescope. He said that visiting relatives can be fun for them."


@pytest.fixture(scope="module")
def nlp() -> Iterator[Any]:
    spacy = pytest.importorskip("spacy")
    if not EN_GUM_UD.exists():
        pytest.skip(f"the pipeline is not there: {EN_GUM_UD.name}")
    pipeline = spacy.load(EN_GUM_UD)
    pipeline.add_pipe("corefsample", config={"n_parses": 12, "n_samples": 50, "seed": 3})
    return pipeline


@pytest.fixture(scope="module")
def doc(nlp: Any) -> Any:
    return nlp(TEXT)


def test_a_doc_holds_the_drawn_parses_with_their_posteriors(nlp: Any, doc: Any) -> None:
    import spacy

    plain = spacy.load(EN_GUM_UD)
    doc_id = doc._.coref.doc_id
    expected: dict[str, int] = {}
    for sample in parse_samples(plain, plain(TEXT), 12, seed=3, doc_id=doc_id):
        arcs = json.dumps([(token.head.i, token.dep_) for token in sample])
        expected[arcs] = expected.get(arcs, 0) + 1
    found = {
        json.dumps([(token.head.i, token.dep_) for token in posterior.doc]): share
        for share, posterior in doc._.coref.parses
    }
    assert found == pytest.approx({arcs: count / 12 for arcs, count in expected.items()})
    assert len(found) > 1
    assert sum(found.values()) == pytest.approx(1.0)


def test_the_joint_probability_is_the_mean_over_parses(doc: Any) -> None:
    coref = doc._.coref
    peter, he = doc[0:1], next(token.i for token in doc if token.text == "He")
    he = doc[he : he + 1]
    total = 0.0
    for share, posterior in coref.parses:
        texts = [(span.start, span.end) for span in posterior.mentions]
        if (peter.start, peter.end) in texts and (he.start, he.end) in texts:
            total += share * posterior.link_probability(
                posterior.doc[peter.start : peter.end], posterior.doc[he.start : he.end]
            )
    assert 0.0 < total < 1.0
    assert coref.joint_link_probability(peter, he) == pytest.approx(total)


def test_the_document_of_a_doc_has_its_parses(doc: Any) -> None:
    document = doc._.coref.joint_document()
    assert sum(parse.weight for parse in document.parses) == 12
    assert document.tokens is not None
    assert list(document.tokens.dep) == [token.dep_ for token in doc]
    assert np.array_equal(document.antecedents.scores, doc._.coref.distribution.scores)


def test_parses_survive_serialisation(nlp: Any, doc: Any) -> None:
    from spacy.tokens import DocBin

    stored = DocBin(store_user_data=True, docs=[doc]).to_bytes()
    (again,) = DocBin().from_bytes(stored).get_docs(nlp.vocab)
    shares = [[share for share, _ in each._.coref.parses] for each in (doc, again)]
    assert shares[0] == shares[1]


def test_parses_of_a_sentence_are_drawn_with_their_shares(doc: Any) -> None:
    from corefsample.spacy_bridge.displacy import parses_markup

    shares: dict[tuple[Any, ...], float] = {}
    end = next(doc.sents).end
    for share, posterior in doc._.coref.parses:
        arcs = tuple((token.head.i, token.dep_) for token in posterior.doc[:end])
        shares[arcs] = shares.get(arcs, 0.0) + share
    markup = parses_markup(doc, 0, most=2)
    assert markup.count("<svg") == min(2, len(shares))
    assert f">{max(shares.values()):.2f}</div>" in markup
    with error(ParameterError, "sentences"):
        parses_markup(doc, 7)


def test_a_doc_without_drawn_parses_says_so() -> None:
    spacy = pytest.importorskip("spacy")
    if not EN_GUM_UD.exists():
        pytest.skip(f"the pipeline is not there: {EN_GUM_UD.name}")
    from corefsample.spacy_bridge.displacy import parses_markup

    plain = spacy.load(EN_GUM_UD)
    plain.add_pipe("corefsample", config={"n_samples": 5})
    doc = plain(TEXT)
    assert doc._.coref.parses == ()
    assert doc._.coref.joint_document().n_parses == 1
    with pytest.raises(ParameterError, match="doc must have drawn parses, got none"):
        doc._.coref.joint_link_probability(doc[0:1], doc[1:2])
    with error(ParameterError, "doc"):
        parses_markup(doc)


def test_settings_of_parses_are_checked() -> None:
    spacy = pytest.importorskip("spacy")
    blank = spacy.blank("en")
    for config in ({"n_parses": -1}, {"parse_temperature": 0.0}):
        with error(ParameterError, next(iter(config))):
            blank.add_pipe("corefsample", config={"require_parser": False, **config})
    with pytest.raises(ParameterError, match="n_parses must be 0 unless mentions are found in the parse"):
        blank.add_pipe("corefsample", config={"require_parser": False, "n_parses": 3, "mentions": "mine"})

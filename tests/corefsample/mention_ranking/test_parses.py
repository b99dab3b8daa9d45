"""Several parses of a document scored one by one."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from expected_errors import error
from strategies import parses as strategies

from corefsample import ParameterError
from corefsample.documents._tokens import Tokens
from corefsample.mention_ranking import AntecedentModel
from corefsample.mention_ranking._model import score_parses
from corefsample.mention_ranking.features._templates import DEFAULT_TEMPLATES
from corefsample.syntax._mentions import mentions_from_parse

WORD = Tokens(["run"], ["run"], ["VERB"], ["root"], np.array([-1]), np.array([0]))
NOUN = dataclasses.replace(WORD, upos=["NOUN"])


@pytest.fixture(scope="module")
def model() -> AntecedentModel:
    weights = np.random.default_rng(0).normal(0.0, 0.7, 1 << 12).astype(np.float32)
    return AntecedentModel(weights, np.zeros(0, np.uint32), DEFAULT_TEMPLATES)


def test_each_parse_has_its_mentions_and_their_scores(model: AntecedentModel) -> None:
    tokens = strategies.long_text(0).tokens
    verbs = dataclasses.replace(tokens, upos=["VERB" if upos == "NOUN" else upos for upos in tokens.upos])
    for parses in ([tokens, verbs], [WORD, NOUN], [NOUN]):
        found = score_parses(model, parses, min_prob=0.01, scheme="ud2")
        assert len(found) == len(parses)
        for parse, (mentions, scored) in zip(parses, found, strict=True):
            np.testing.assert_array_equal(mentions, mentions_from_parse(parse, scheme="ud2"))
            alone = model.pruned_score(parse, mentions, min_prob=0.01, scheme="ud2")
            np.testing.assert_array_equal(scored.distribution.scores, alone.distribution.scores)
            np.testing.assert_array_equal(scored.dropped_mass, alone.dropped_mass)


def test_bad_parses_raise(model: AntecedentModel) -> None:
    with pytest.raises(ParameterError, match="tokens must be parsed to find mentions"):
        score_parses(model, [dataclasses.replace(WORD, dep=[""])])
    with error(ParameterError, "min_prob"):
        score_parses(model, [WORD], min_prob=1.0)

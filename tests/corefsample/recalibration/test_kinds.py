"""Recalibration by kind: kinds of mentions, offsets against plain loops, derivatives against differences, fits."""

import dataclasses
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from references import recalibration as rr
from strategies.documents import Lists

from corefsample import AntecedentDistribution, InputError, ParameterError, ScoredDocument, Tokens, sample_clusterings
from corefsample._arrays import Floats
from corefsample.posterior._posterior import DrawnRecalibration
from corefsample.recalibration import RecalibrationFitter, read_recalibration
from corefsample.recalibration._fitter import domain_variation
from corefsample.recalibration._losses import GoldSet, Likelihood, LinkLosses, Losses
from corefsample.recalibration._model import N_PARAMETERS, Recalibration
from corefsample.recalibration._uncertain import (
    SHIPPED,
    DomainEffect,
    UncertainRecalibration,
    chosen_recalibration,
    known_recalibration,
)
from corefsample.scorers.protocol import MENTION_SOURCES, SHIPPED as SHIPPED_SCORERS
from corefsample.syntax._words import MENTION_KINDS, mention_kinds

N_KINDS = len(MENTION_KINDS)
# A word of each kind, its lemma and universal part of speech.
WORDS = (
    *(("Ada", "Ada", "PROPN"), ("dogs", "dog", "NOUN"), ("dog", "dog", "NOUN"), ("her", "she", "PRON")),
    *(("its", "its", "PRON"), ("them", "they", "PRON"), ("you", "you", "PRON"), ("those", "that", "DET")),
    ("running", "run", "VERB"),
)


def tokens_of(kinds: list[int], **extra: list[str]) -> Tokens:
    text, lemma, upos = zip(*(WORDS[kind] for kind in kinds), strict=True)
    n = len(kinds)
    return Tokens(list(text), list(lemma), list(upos), ["root"] * n, np.full(n, -1), np.arange(n), extra)


def vector(seed: int, sd: float = 0.4) -> Floats:
    return np.random.default_rng(seed).normal(0.0, sd, N_PARAMETERS)


def made_document(rng: np.random.Generator, n: int, doc_id: str, change: Recalibration | None = None) -> ScoredDocument:
    """A document of random kinds, whose gold is drawn from its scores after a recalibration."""
    lists = rr.random_lists(rng, n)
    kinds = rng.integers(0, N_KINDS, n).tolist()
    document = dataclasses.replace(rr.document(lists, None, doc_id), tokens=tokens_of(kinds))
    drawn = document.antecedents if change is None else change.apply(document.antecedents, kinds)
    labels = sample_clusterings(drawn, n_samples=1, seed=5, doc_id=doc_id).labels[0].tolist()
    return dataclasses.replace(document, gold=labels)


def made_documents(n_documents: int, n_mentions: int, seed: int, change: Recalibration | None = None) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [made_document(rng, n_mentions, f"doc {d}", change) for d in range(n_documents)]


def loop_scores(document: ScoredDocument, kinds: list[int], parameters: Floats) -> Lists:
    """Recalibrated scores by a plain loop."""
    new, links = parameters[2 : 2 + N_KINDS], parameters[2 + N_KINDS :].reshape(N_KINDS, N_KINDS)
    rows, scores = [], []
    for i in range(document.n_mentions):
        row, values = document.antecedents.row(i)[0].tolist(), document.antecedents
        start = int(values.indptr[i])
        changed = []
        for place, k in enumerate(row):
            score = float(values.scores[start + place]) / math.exp(parameters[0]) - parameters[1]
            changed.append(score - new[kinds[i]] + links[kinds[i], kinds[k]])
        rows.append(row)
        scores.append(changed)
    return Lists(rows, scores)


@pytest.mark.parametrize(
    ("word", "upos", "extra", "kind"),
    [
        ("sheep", "NOUN", {"xpos": "NNS"}, "plural noun"),
        ("sheep", "NOUN", {"feats": "Number=Plur"}, "plural noun"),
        ("sheep", "NOUN", {"xpos": "NN"}, "singular noun"),
        ("sie", "PRON", {"feats": "Number=Plur|Person=3|PronType=Prs"}, "they"),
        ("elle", "PRON", {"feats": "Gender=Fem|Number=Sing|Person=3|PronType=Prs"}, "he or she"),
        ("nous", "PRON", {"feats": "Number=Plur|Person=1|PronType=Prs"}, "first or second person"),
        ("who", "PRON", {}, "other pronoun"),
        ("themselves", "PRON", {}, "they"),
        ("hers", "PRON", {"xpos": "PRP$"}, "he or she"),
        ("seven", "NUM", {}, "other"),
    ],
)
def test_kinds_follow_tags_and_features(word: str, upos: str, extra: dict[str, str], kind: str) -> None:
    further = {name: [value] for name, value in extra.items()}
    # The label of the dependency has no part in it: the three schemes give the same kinds.
    for label in ("nsubj", "obl", "pobj"):
        tokens = Tokens([word], [word], [upos], [label], np.array([-1]), np.zeros(1, int), further)
        assert MENTION_KINDS[mention_kinds(tokens, [[0, 1, 0]])[0]] == kind


# --- application --------------------------------------------------------------------------------------------


def test_offsets_are_added_by_kind_of_mention_and_antecedent() -> None:
    document = made_documents(1, 12, seed=1)[0]
    kinds = mention_kinds(document.tokens, document.mentions).tolist()
    parameters = vector(1)
    after = Recalibration.from_vector(parameters).apply_document(document)
    expected = AntecedentDistribution.from_lists(*loop_scores(document, kinds, parameters))
    np.testing.assert_allclose(after.antecedents.scores, expected.scores, rtol=0, atol=1e-12)


def test_offsets_need_kinds_or_tokens() -> None:
    change = Recalibration.from_vector(vector(2))
    document = rr.document(Lists([[], [0]], [[], [1.0]]), None)
    with error(ParameterError, "kinds"):
        change.apply(document.antecedents)
    with pytest.raises(ParameterError, match="doc_id 'd': tokens are required for recalibration by kind of mention"):
        change.apply_document(document)
    for kinds in ([0], [0, 9]):
        with error(ParameterError, "kinds"):
            change.apply(document.antecedents, kinds)


# --- derivatives --------------------------------------------------------------------------------------------


def losses_of(documents: list[ScoredDocument], kind: type[Losses] = Likelihood) -> Any:
    return kind(GoldSet(documents, unannotated="skip"), by_kind=True)


@pytest.mark.kernels
def test_the_loss_by_kind_follows_the_definition() -> None:
    for seed in range(8):
        (document,) = made_documents(1, 7, seed=seed)
        gold = [None if i % 5 == 3 else entity for i, entity in enumerate(document.gold)]
        document = dataclasses.replace(document, gold=gold)
        kinds = mention_kinds(document.tokens, document.mentions).tolist()
        parameters = vector(seed)
        expected = rr.likelihood_loss(loop_scores(document, kinds, parameters), gold)
        found = losses_of([document]).at(Recalibration.from_vector(parameters))
        np.testing.assert_allclose(found, [expected], rtol=1e-10)


@pytest.mark.kernels
def test_gradient_and_curvature_are_those_of_the_loss() -> None:
    losses = losses_of(made_documents(2, 15, seed=4))
    point, step = vector(4, 0.3), 1e-5
    found = losses.derivatives(point)
    for place in range(N_PARAMETERS):
        shift = np.zeros(N_PARAMETERS)
        shift[place] = step
        above = losses.derivatives(point + shift)
        below = losses.derivatives(point - shift)
        np.testing.assert_allclose(
            found.gradients[:, place], (above.losses - below.losses) / (2 * step), rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(
            found.hessians[:, place], (above.gradients - below.gradients) / (2 * step), rtol=1e-4, atol=1e-5
        )


# --- fits ---------------------------------------------------------------------------------------------------


def domains_of(documents: list[ScoredDocument], n: int) -> dict[str, str]:
    return {document.doc_id: f"domain {d % n}" for d, document in enumerate(documents)}


def test_a_fit_finds_the_offsets_that_made_gold() -> None:
    truth = vector(6, 0.0)
    truth[2 + N_KINDS] = 1.5  # names with names
    truth[2 + N_KINDS + 3 * N_KINDS + 1] = -2.0  # he or she with plural nouns
    documents = made_documents(150, 60, seed=6, change=Recalibration.from_vector(truth))
    fit = RecalibrationFitter(documents, form="kinds").fit()
    assert fit.prior_sd is not None
    assert fit.prior_sd >= 0.1
    assert fit.recalibration.offsets is not None
    table = fit.recalibration.offset_table()
    # Differences within a row do not depend on how offsets of links share with those of NEW. Some 300 mentions decide
    # the first: a standard error of about 0.2. Links that are hardly ever true say less, and the prior shrinks both.
    assert 0.75 < table[0, 0] - table[0, 1:].mean() < 2.25
    assert -3.0 < table[3, 1] - np.delete(table[3], 1).mean() < -0.4
    assert abs(math.log(fit.recalibration.temperature)) < 0.1
    assert fit.score_after < fit.score_before


def test_a_shift_between_domains_is_found() -> None:
    # Normal shifts with known standard deviations, seen with the precision of 400 units each.
    rng = np.random.default_rng(9)
    sds = {"log_temperature": 0.0, "new_bias": 0.5, "new_offsets": 0.0, "link_offsets": 0.3}
    effect = DomainEffect(**sds, n_domains=60)
    precision = 400.0
    slopes, curvatures = [], []
    for _ in range(60):
        shift = rng.standard_normal(N_PARAMETERS) * effect.sds()
        seen = shift + rng.standard_normal(N_PARAMETERS) / math.sqrt(precision)
        slopes.append(-precision * seen)
        curvatures.append(precision * np.eye(N_PARAMETERS))
    found = domain_variation(slopes, curvatures)
    # The standard error of a standard deviation from 60 shifts is 0.5 / sqrt(120) = 0.05; five of them.
    assert abs(found.new_bias - 0.5) < 0.25
    assert abs(found.link_offsets - 0.3) < 0.05
    assert found.log_temperature < 0.1
    assert found.new_offsets < 0.05


def test_domains_need_the_form_kinds_and_three_of_them() -> None:
    documents = made_documents(6, 20, seed=10)
    with error(ParameterError, "domains"):
        RecalibrationFitter(documents).domain_effect()
    two = RecalibrationFitter(documents, form="kinds", domains=domains_of(documents, 2))
    with pytest.raises(ParameterError, match="must be at least 3 to estimate how domains differ, got 2"):
        two.domain_effect()
    with error(ParameterError, "domains"):
        RecalibrationFitter(documents, form="kinds", domains={})


# --- uncertainty --------------------------------------------------------------------------------------------


def uncertain() -> UncertainRecalibration:
    draws = tuple(Recalibration.from_vector(vector(seed, 0.1)) for seed in range(4))
    effect = DomainEffect(0.0, 0.5, 0.0, 0.0, n_domains=5)
    return UncertainRecalibration(Recalibration.from_vector(vector(0)), draws, effect)


def test_a_shift_belongs_to_a_domain_and_the_refits_to_all() -> None:
    refits = uncertain().sampled("fit", 4)
    shifts = {}
    for domain in ("", "news", "speech"):
        drawn = uncertain().sampled("domain", 4, seed=3, domain=domain)
        shifts[domain] = np.array([one.vector() - other.vector() for one, other in zip(drawn, refits, strict=True)])
        assert uncertain().sampled("domain", 4, seed=3, domain=domain) == drawn
        assert uncertain().sampled("fit", 4, domain=domain) == refits
    assert np.abs(shifts["news"] - shifts["speech"]).max() > 0.05
    assert np.abs(shifts["news"] - shifts[""]).max() > 0.05


def test_an_uncertain_recalibration_can_be_read_again(tmp_path: Path) -> None:
    path, before = tmp_path / "record.json", dataclasses.replace(uncertain(), domain_field="section")
    path.write_text(json.dumps({"more": 1, **before.to_json()}), encoding="utf-8")
    after = read_recalibration(path)
    assert (after.recalibration, after.domain_effect) == (before.recalibration, before.domain_effect)
    assert after.widest == "domain"
    assert after.domain_of({"section": 3, "genre": "news"}) == "3"
    assert after.domain_of({"genre": "news"}) == after.domain_of({"section": None}) == ""
    for one, other in zip(after.draws, before.draws, strict=True):
        np.testing.assert_allclose(one.vector(), other.vector(), atol=1e-5)
    path.write_text("{}", encoding="utf-8")
    for name in (str(path), "russian"):  # no name of a record of ours
        with error(InputError, None, name):
            read_recalibration(name)


def test_domain_draws_are_refits_with_a_shift() -> None:
    both = uncertain()
    refits, moved = both.sampled("fit", 400), both.sampled("domain", 400)
    shifts = np.stack([a.vector() - b.vector() for a, b in zip(moved, refits, strict=True)])
    assert np.abs(np.delete(shifts, 1, axis=1)).max() < 1e-12
    assert abs(shifts[:, 1].std() - 0.5) < 0.1  # standard error 0.5 / sqrt(800) = 0.018
    assert both.sampled("none", 400) == (both.recalibration,)
    with error(ParameterError, "uncertainty"):
        UncertainRecalibration(both.recalibration, both.draws).sampled("domain")
    with error(ParameterError, "uncertainty"):
        UncertainRecalibration(both.recalibration).sampled("fit")


def test_samples_are_divided_among_draws_in_order() -> None:
    document = made_documents(1, 15, seed=11)[0]
    kinds = mention_kinds(document.tokens, document.mentions)
    draws = uncertain().sampled("fit", 4)
    options: dict[str, Any] = {"seed": 3, "doc_id": "d"}
    drawn = DrawnRecalibration(Recalibration(), draws)
    labels, _ = drawn.labels(document.antecedents, kinds, np.arange(10), 10, **options)
    bounds = [0, 2, 5, 7, 10]  # as evenly as whole numbers allow
    for draw, first, end in zip(draws, bounds[:-1], bounds[1:], strict=True):
        own = sample_clusterings(draw.apply(document.antecedents, kinds), n_samples=end, **options).labels
        assert np.array_equal(labels.T[first:end], own[first:end])


def test_a_draw_under_which_a_score_overflows_raises() -> None:
    drawn = DrawnRecalibration(Recalibration(), (Recalibration(), Recalibration(1e-10)))
    large = AntecedentDistribution.from_lists([[], [0]], [[], [1e300]])
    with error(ParameterError, "temperature"):
        drawn.labels(large, None, np.arange(4), 4, seed=0, doc_id="")


# --- recalibrations on top of others ------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(N_PARAMETERS, N_PARAMETERS), (2, 2), (N_PARAMETERS, 2), (2, N_PARAMETERS)])
def test_a_relative_recalibration_replaces_the_one_applied(sizes: tuple[int, int]) -> None:
    document = made_documents(1, 15, seed=30)[0]
    wanted, applied = (
        Recalibration.from_vector(vector(seed)[:size]) for seed, size in zip((31, 32), sizes, strict=True)
    )
    expected = wanted.apply_document(document).antecedents.scores
    found = wanted.relative_to(applied).apply_document(applied.apply_document(document)).antecedents.scores
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert not np.allclose(applied.apply_document(document).antecedents.scores, expected)


def test_documents_name_their_recalibrations() -> None:
    document = dataclasses.replace(made_documents(1, 5, seed=33)[0], metadata={"genre": "news"})
    first, second = Recalibration(2.0, 0.5), Recalibration.from_vector(vector(34))
    once = first.apply_document(document)
    assert once.metadata == {"genre": "news", "recalibration": first.fingerprint()}
    twice = second.apply_document(once)
    assert Recalibration.applied_to(twice.metadata) == f"{first.fingerprint()} {second.fingerprint()}"
    assert Recalibration().apply_document(document).metadata == {"genre": "news"}  # it changes nothing
    with error(ParameterError, "scores"):
        first.apply_document(twice)
    assert Recalibration.from_json(json.loads(json.dumps(second.to_json()))).fingerprint() == second.fingerprint()
    assert Recalibration(2.0, 0.5000001).fingerprint() != first.fingerprint()


def test_gold_documents_must_have_had_one_recalibration() -> None:
    documents = made_documents(4, 30, seed=35)
    change = Recalibration(1.1, 0.1)
    fitter = RecalibrationFitter([change.apply_document(each) for each in documents])
    assert fitter.gold.base == change.fingerprint()
    with pytest.raises(ParameterError, match=r"doc_id 'doc 1': scores must have had the same recalibration"):
        RecalibrationFitter([change.apply_document(documents[0]), *documents[1:]])


# --- links --------------------------------------------------------------------------------------------------


@pytest.mark.kernels
def test_derivatives_of_link_losses_are_those_of_enumeration() -> None:
    rng, step = np.random.default_rng(40), 1e-5
    for gold in ([0, 1, 0, None, 0], [0, 0, 1, 0, 1]):
        lists = Lists([list(range(i)) for i in range(5)], [rng.normal(0.0, 1.0, i).tolist() for i in range(5)])
        kinds = rng.integers(0, N_KINDS, 5).tolist()
        document = dataclasses.replace(rr.document(lists, gold, "d"), tokens=tokens_of(kinds))
        point, losses = vector(41, 0.3), losses_of([document], LinkLosses)
        losses.hessians = losses.hessians_at(point)
        found = losses.derivatives(point)
        (gradient,), (hessian,) = found.gradients, found.hessians
        assert found.losses == pytest.approx([rr.link_loss(loop_scores(document, kinds, point), gold)], abs=1e-10)
        for k in range(N_PARAMETERS):
            moved = step * np.eye(N_PARAMETERS)[k]
            up, down = (rr.link_loss(loop_scores(document, kinds, point + s * moved), gold) for s in (1, -1))
            assert gradient[k] == pytest.approx((up - down) / (2 * step), abs=1e-7)
            above, below = (losses.derivatives(point + s * moved).gradients[0] for s in (1, -1))
            np.testing.assert_allclose(hessian[k], (above - below) / (2 * step), atol=1e-4)
        assert np.count_nonzero(gradient) > 10


def test_a_fit_by_kind_to_links_is_a_minimum() -> None:
    documents = made_documents(6, 25, seed=42, change=Recalibration.from_vector(vector(43, 0.2)))
    fitter = RecalibrationFitter(documents, objective="links-log", form="kinds")
    fit = fitter.fit()
    assert fit.prior_sd is not None
    point = fit.recalibration.vector()

    def value(vector: Floats) -> float:
        penalty = float((vector[2:] ** 2).sum()) / (2.0 * float(fit.prior_sd or 1.0) ** 2)
        return float(fitter._losses.at(Recalibration.from_vector(vector)).sum()) + penalty

    best = value(point)
    rng = np.random.default_rng(44)
    for _ in range(20):  # steps of about 0.1 in all directions
        assert value(point + rng.normal(0.0, 0.02, N_PARAMETERS)) > best - 1e-6
    assert best < value(np.zeros(N_PARAMETERS))


# --- broken records -----------------------------------------------------------------------------------------


def record() -> dict[str, Any]:
    draws = Recalibration.from_vector(vector(50)), Recalibration.from_vector(vector(51))
    effect = DomainEffect(0.1, 0.2, 0.1, 0.1, n_domains=5)
    return UncertainRecalibration(Recalibration.from_vector(vector(52)), draws, effect).to_json()


@pytest.mark.parametrize(
    ("path", "value", "parameter"),
    [
        ("recalibration temperature", math.nan, "temperature"),
        ("recalibration offsets new name", math.nan, "offsets"),
        ("recalibration offsets links it", {}, "links"),
        ("recalibration", {"temperature": 1.0, "bias": 0.0}, "recalibration"),
        ("draws temperature", [1.0, math.nan], "draws.temperature"),
        ("draws temperature", [1.0], "draws.new_bias"),
        ("recalibration offsets new", {"name": 0.0}, "new"),
        ("draws offsets", [[0.0], [1.0, 2.0]], "draws.offsets"),
        ("draws offsets", [["a"] * 90] * 2, "draws.offsets"),
        ("draws", [], "draws"),
        ("domain_effect new_bias", -0.1, "domain_effect.new_bias"),
        ("domain_effect", {"new_bias": 0.1}, "domain_effect"),
        ("domain_field", 3, "domain_field"),
    ],
)
def test_a_broken_record_names_its_part(path: str, value: Any, parameter: str) -> None:
    content = record()
    inner, (*outer, last) = content, path.split()
    for name in outer:
        inner = inner[name]
    inner[last] = value
    with error(ParameterError, parameter):
        UncertainRecalibration.from_json(content)


# --- the recalibrations of the models of the package ----------------------------------------------------------


@pytest.mark.parametrize(
    ("choice", "model", "of_parse", "of_annotated"),
    [
        (None, None, "english", "english-annotated"),
        (None, "es", "spanish", None),
        (None, "own.npz", None, None),
        ("none", None, None, None),
        ("none", "es", None, None),
        ("spanish", "own.npz", "spanish", None),
        ("english-annotated", None, "english-annotated", "english-annotated"),
        ("own.json", "es", "own.json", "own.json"),
    ],
)
def test_models_have_a_recalibration(
    choice: str | None, model: str | None, of_parse: str | None, of_annotated: str | None
) -> None:
    assert [chosen_recalibration(choice, model, mentions) for mentions in ("parse", "annotated")] == [
        of_parse, of_annotated,
    ]  # fmt: skip


def test_each_is_of_a_model_and_says_its_language() -> None:
    assert {
        chosen_recalibration(None, model, mentions) for model in SHIPPED_SCORERS for mentions in MENTION_SOURCES
    } == {None, *SHIPPED}
    languages = {name: read_recalibration(name).language for name in SHIPPED}
    assert languages == {name: "en" if name.startswith("english") else "es" for name in SHIPPED}


def test_the_scores_that_had_one_are_known_by_its_fingerprint() -> None:
    marks = {name: read_recalibration(name).recalibration.fingerprint() for name in SHIPPED}
    assert len({*marks.values()}) == len(SHIPPED)
    for name, mark in marks.items():
        known = known_recalibration(mark)
        assert known is not None
        assert known.to_json() == read_recalibration(name).to_json()
    assert known_recalibration("") is known_recalibration("0" * 12) is None

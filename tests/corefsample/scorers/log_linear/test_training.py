"""Training: what it learns, what it depends on and what not, errors."""

import dataclasses
import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from references import mention_ranking as reference

import corefsample as cs
from corefsample import ParameterError, ScoredDocument, Tokens, read_corefud
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.scorers import load_scorer, score_documents
from corefsample.scorers.log_linear import _kernels, _training as module
from corefsample.scorers.log_linear._encoding import TemplateSet
from corefsample.scorers.log_linear._examples import Example, TrainingTexts, examples_of
from corefsample.scorers.log_linear._feature_codes import Atom
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.scorers.log_linear._training import HeldOutFigures, figures, train
from corefsample.scorers.protocol import EpochReport
from corefsample.syntax._words import word_hash

SMALL = TemplateSet(
    pronoun=["i.pronoun k.gender", "i.pronoun k.kind", "pair.sentences"],
    phrase=["pair.match", "i.kind pair.match"],
    new=["i.kind", "i.kind best.match", "i.kind i.head_before"],
)
NAMES = ("Mary", "Peter", "Susan", "Robert", "Linda", "David")
FEMALE = ("Mary", "Susan", "Linda")
QUICK: dict[str, Any] = {"templates": SMALL, "bits": 10, "epochs": 2, "min_count": 1, "orders": 1}


def tale(number: int, length: int = 6) -> AnnotatedDocument:
    """Sentences "Mary saw Peter ." and "she slept .", in which a name is its own entity and a pronoun the last such."""
    rng = np.random.default_rng(number)
    words: list[tuple[str, str, str, str]] = []
    heads, sents, spans, entities = [], [], [], []
    for sentence in range(length):
        start = len(words)
        one, two = rng.choice(NAMES, 2, replace=False).tolist()
        last = {name in FEMALE: name for name in entities}  # of each gender, the last one mentioned
        if last and rng.random() < 0.5:
            gender = bool(rng.choice(sorted(last)))
            she = "she" if gender else "he"
            words += [(she, she, "PRON", "nsubj"), ("slept", "sleep", "VERB", "root"), (".", ".", "PUNCT", "punct")]
            heads += [start + 1, -1, start + 1]
            spans.append((start, start + 1, start))
            entities.append(last[gender])
        else:
            words += [(one, one, "PROPN", "nsubj"), ("saw", "see", "VERB", "root"), (two, two, "PROPN", "obj")]
            words.append((".", ".", "PUNCT", "punct"))
            heads += [start + 1, -1, start + 1, start + 1]
            spans += [(start, start + 1, start), (start + 2, start + 3, start + 2)]
            entities += [one, two]
        sents += [sentence] * (len(words) - start)
    text, lemma, upos, dep = zip(*words, strict=True)
    tokens = Tokens(text, lemma, upos, dep, np.array(heads), np.array(sents))
    return AnnotatedDocument(f"tale-{number}", tokens, np.array(spans), entities)


def tales(n: int, first: int = 0) -> list[AnnotatedDocument]:
    return [tale(first + number) for number in range(n)]


def held_out_figures(model: AntecedentModel, documents: Sequence[AnnotatedDocument]) -> HeldOutFigures:
    return figures(
        examples_of(TrainingTexts(documents), model.vocabulary, model.templates, model.language), model.weights
    )


def content(model: AntecedentModel) -> tuple[bytes, bytes]:
    return model.weights.tobytes(), model.vocabulary.tobytes()


# --- what is learnt ----------------------------------------------------------------------------------------


def test_an_obvious_pattern_is_learnt() -> None:
    model = train(tales(24), l2=0.01, link_weight=1.0, **{**QUICK, "epochs": 6})
    for document in tales(6, first=100):
        scored = next(score_documents(model, [document]))
        assert cs.map_clustering(scored.antecedents).tolist() == document.labels.tolist()


def test_the_likelihood_rises_with_each_pass() -> None:
    reports: list[EpochReport] = []
    train(tales(16), l2=0.1, link_weight=0.0, **{**QUICK, "epochs": 4}, on_epoch=reports.append)
    losses = [report.loss for report in reports]
    assert losses == sorted(losses, reverse=True)
    assert [(report.epoch, report.n_epochs, report.l2, report.held_out) for report in reports] == [
        (epoch, 4, 0.1, None) for epoch in (1, 2, 3, 4)
    ]


def test_further_texts_count_by_their_weight_and_have_a_flag_of_their_own() -> None:
    def trained(**options: Any) -> AntecedentModel:
        further = [TrainingTexts(tales(6, first=30), **options)]
        return train(tales(6), further=further, **{**QUICK, "orders": 2})

    alone = train(tales(6), **{**QUICK, "orders": 2})
    light, heavy = trained(weight=1e-3), trained(weight=1.0)
    distances = [np.abs(model.weights - alone.weights).sum() for model in (light, heavy)]
    assert heavy.seen == {*alone.seen, *train(tales(6, first=30), **QUICK).seen}
    assert 0 < distances[0] < distances[1]
    (full,) = examples_of(TrainingTexts(tales(1), 0.25), heavy.vocabulary, SMALL, heavy.language)
    (partial,) = examples_of(TrainingTexts(tales(1), partial=True), heavy.vocabulary, SMALL, heavy.language)
    assert (full.weight, full.doc.atoms[:, Atom.PARTIAL].any()) == (0.25, False)
    assert (partial.weight, partial.doc.atoms[:, Atom.PARTIAL].all()) == (1.0, True)


def test_the_weight_of_a_text_multiplies_its_slopes() -> None:
    weights, gradients = np.random.default_rng(0).normal(size=1024).astype(np.float32), np.zeros((2, 1024), np.float32)
    for weight, gradient in zip((1.0, 0.25), gradients, strict=True):
        model = train(tales(1), **QUICK)
        (example,) = examples_of(TrainingTexts(tales(1), weight), model.vocabulary, SMALL, model.language)
        module._losses(example, weights, 3.0, gradient)
    np.testing.assert_allclose(gradients[1], 0.25 * gradients[0], atol=2e-4)  # small slopes are left out
    assert np.abs(gradients[0]).max() > 0.1


def test_a_penalty_shrinks_weights_towards_zero() -> None:
    free, bound = (train(tales(10), l2=l2, **QUICK) for l2 in (0.0, 20.0))
    assert np.abs(bound.weights).sum() < 0.5 * np.abs(free.weights).sum()


def slopes_of(example: Example, weights: np.ndarray, link_weight: float) -> np.ndarray:
    """Slopes of one document's loss in the weights."""
    n, gradient = len(example.entities), np.zeros(len(weights), np.float32)
    scores, new_scores, best = np.empty(n * (n - 1) // 2), np.empty(n), np.zeros((n, 2), np.int32)
    losses, slopes, new_slopes, probs = np.empty(n), np.empty(len(scores)), np.empty(n), np.zeros((n, n))
    _kernels.score_all(example.doc, example.hashed, weights.astype(np.float32), scores, new_scores, best)
    _kernels.antecedent_losses(scores, new_scores, example.entities, losses, slopes, new_slopes)
    _kernels.antecedent_probs(scores, new_scores, 1e-4, probs)
    _kernels.link_loss(probs, example.entities, link_weight / n, 0.005, slopes, new_slopes)
    _kernels.add_to_weights(example.doc, example.hashed, slopes, new_slopes, best, 1e-4, gradient)
    return gradient.astype(np.float64)


def expected_weights(
    documents: Sequence[AnnotatedDocument], epochs: int, orders: int, start: np.ndarray | None = None
) -> np.ndarray:
    """What `train` gives with seed 0 and no penalty: two documents per step, averages over the last pass or two."""
    model = train(documents, **QUICK)
    examples = examples_of(TrainingTexts(documents), model.vocabulary, SMALL, model.language)
    averages = []
    for number in range(orders):
        generator = np.random.Generator(np.random.Philox(0).jumped(number))
        weights, squares = np.zeros(1024), np.zeros(1024)
        if start is not None:
            weights, squares = start.astype(np.float64), np.ones(1024)
        passes: list[list[np.ndarray]] = []
        for epoch in range(epochs):
            drawn, after = generator.permutation(len(examples)).tolist(), []
            for step in range(0, len(drawn), 2):
                link_weight = 3.0 if epoch else 0.0  # marginals count from the second pass on
                gradient = sum(slopes_of(examples[d], weights, link_weight) for d in drawn[step : step + 2])
                squares = squares + gradient**2
                moved = weights - 0.1 * gradient / (1e-4 + np.sqrt(squares))
                weights = moved.astype(np.float32).astype(np.float64)
                after.append(weights)
            passes.append(after)
        # The second of two passes, the last two of three, the fourth of four.
        last = passes[-1:] if epochs % 2 == 0 or epochs == 1 else passes[-2:]
        averages.append(np.mean([each for steps in last for each in steps], axis=0))
    return module.rounded(np.mean(averages, axis=0).astype(np.float32))


@pytest.mark.parametrize(("epochs", "orders"), [(1, 1), (2, 1), (3, 1), (4, 1), (5, 1), (1, 2), (3, 3)])
def test_training_is_adagrad_over_shuffled_pairs_of_documents(epochs: int, orders: int) -> None:
    model = train(tales(5), l2=0.0, link_weight=3.0, **{**QUICK, "epochs": epochs, "orders": orders})
    wanted = expected_weights(tales(5), epochs, orders)
    # Rounding in another order may move a weight by one step of the grid.
    np.testing.assert_allclose(model.weights, wanted, atol=1.01 * np.abs(wanted).max() / 127)
    assert (np.abs(model.weights - wanted) < 1e-6).mean() > 0.98


def test_training_from_a_model_begins_with_its_weights_and_squares_of_one(monkeypatch: pytest.MonkeyPatch) -> None:
    other = train(tales(4, first=50), **QUICK)
    other.provenance["attribution"] = "tales"
    monkeypatch.setattr(module, "load_model", lambda _: other)
    model = train(tales(5), l2=0.0, link_weight=3.0, start="english", **QUICK)
    wanted = expected_weights(tales(5), 2, 1, other.weights)
    np.testing.assert_allclose(model.weights, wanted, atol=1.01 * np.abs(wanted).max() / 127)
    assert (np.abs(model.weights - wanted) < 1e-6).mean() > 0.98
    # Not by itself where that model has seen a document: folds of it would be scored by what it learned there.
    chosen = [train(each, language="none", **QUICK).provenance["options"]["start"] for each in (tales(5), tales(3, 49))]
    assert chosen == ["english", "none"]


# --- choice on held-out documents --------------------------------------------------------------------------


def test_the_penalty_and_the_pass_that_do_best_on_held_out_documents_are_kept() -> None:
    reports: list[EpochReport] = []
    held_out = tales(4, first=200)
    model = train(tales(8), held_out=held_out, l2=[30.0, 0.1, 3.0], **{**QUICK, "epochs": 3}, on_epoch=reports.append)
    assert [(report.l2, report.epoch) for report in reports] == [
        (l2, epoch) for l2 in (30.0, 0.1, 3.0) for epoch in (1, 2, 3)
    ]
    best = min(reports, key=lambda report: report.held_out.loss)  # type: ignore[union-attr]
    assert (model.provenance["l2"], model.provenance["epoch"]) == (best.l2, best.epoch)
    assert model.provenance["held_out"] == dataclasses.asdict(best.held_out)  # type: ignore[arg-type]
    assert held_out_figures(model, held_out) == best.held_out
    alone = train(tales(8), held_out=held_out, l2=best.l2, **{**QUICK, "epochs": 3})
    assert content(alone) == content(model)


# --- what it depends on ------------------------------------------------------------------------------------


def test_training_depends_on_the_seed_and_on_nothing_else() -> None:
    assert len({content(train(tales(7), held_out=tales(2, first=90), **QUICK)) for _ in range(3)}) == 1
    assert content(train(tales(7), seed=1, **QUICK)) != content(train(tales(7), seed=2, **QUICK))


def with_gold(document: AnnotatedDocument, gold: list[int | str | None]) -> ScoredDocument:
    n = document.n_mentions
    dist = cs.AntecedentDistribution.from_lists([[]] * n, [[]] * n)
    return ScoredDocument(document.doc_id, document.mentions, dist, tokens=document.tokens, gold=gold)


def test_documents_without_annotation_only_add_words() -> None:
    bare = with_gold(tale(30), [None] * tale(30).n_mentions)
    unannotated = dataclasses.replace(bare, gold=None)
    assert content(train([*tales(5), bare, unannotated], **QUICK)) == content(train(tales(5), **QUICK))


def test_words_of_few_documents_are_not_in_the_vocabulary() -> None:
    strange = reference.parsed("Zanzibar Zanzibar PROPN 0 root")
    documents = [*tales(5), AnnotatedDocument("z", strange, np.array([[0, 1, 0]]), ["e"])]
    every, some = (train(documents, **{**QUICK, "min_count": n}).vocabulary for n in (1, 2))
    assert word_hash("zanzibar") in every
    assert word_hash("zanzibar") not in some
    assert {word_hash("slept"), word_hash("sleep"), word_hash("she")} <= set(some.tolist())


def test_the_model_records_its_provenance() -> None:
    model = train(
        tales(4), held_out=tales(2, first=60), l2=[0.5, 2.0], seed=3,
        learning_rate=0.2, link_weight=4.0, provenance={"data": "tales", "l2": "overwritten"}, **QUICK,
    )  # fmt: skip
    notes = model.provenance
    assert notes["data"] == "tales"
    assert notes["options"] == {
        "n_buckets": 1024, "epochs": 2, "rate": 0.2, "link_weight": 4.0, "seed": 3, "orders": 1, "bits": 10,
        "min_count": 1, "l2_tried": [0.5, 2.0],
        "mentions": "annotated", "windows": False, "start": "none",
    }  # fmt: skip
    assert notes["l2"] in (0.5, 2.0)
    assert notes["n_documents"] == 4
    assert notes["n_mentions"] == sum(document.n_mentions for document in tales(4))
    assert json.loads(json.dumps(dict(notes))) == notes
    assert model.templates == SMALL


def test_another_language_begins_with_the_weights_of_english() -> None:
    english, few = load_scorer(), {"epochs": 1, "orders": 1, "l2": 0.0}
    model = train(tales(3), language="es", **few)
    assert content(model) == content(train(tales(3), language="es", start="english", **few))
    # Features that do not occur keep their weights, up to the grid of the file.
    from_zero = train(tales(3), language="es", start="none", **few)
    unseen = (from_zero.weights == 0) & (english.weights != 0)
    step = np.abs(model.weights).max() / 127
    assert unseen.sum() > 200_000
    assert np.abs(model.weights - english.weights)[unseen].max() <= step
    assert held_out_figures(model, tales(5, 90)).loss < held_out_figures(from_zero, tales(5, 90)).loss
    # What that model has learned from, this one has too, and says so.
    assert {*english.provenance["documents"]} < {*model.provenance["documents"]}
    assert model.provenance["start"] == {"attribution": english.provenance["attribution"]}
    assert (model.provenance["options"]["start"], from_zero.provenance["options"]["start"]) == ("english", "none")


def test_english_and_models_of_other_features_begin_with_zeros() -> None:
    assert train(tales(2), epochs=1, orders=1).provenance["options"]["start"] == "none"
    assert train(tales(2), language="es", **QUICK).provenance["options"]["start"] == "none"
    with error(ParameterError, "start"):
        train(tales(2), language="es", start="english", **QUICK)


# --- invalid input -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "values", "parameter"),
    [
        ("l2", [-1, [], math.nan, 10**400, "1"], "l2"),
        ("l2", [[0.1, 1.0]], "held_out"),
        ("epochs", [0, 1.5], "epochs"),
        ("learning_rate", [0, math.inf], "learning_rate"),
        ("link_weight", [-0.5, True], "link_weight"),
        ("bits", [7, 23], "bits"),
        ("held_out", [[]], "held_out"),
        *((name, [value], name) for name, value in (("min_count", 0), ("seed", -1), ("orders", 0))),
    ],
)
def test_options_outside_their_range_are_rejected(option: str, values: list[Any], parameter: str) -> None:
    for value in values:
        with error(ParameterError, parameter):
            train(tales(1), **{**QUICK, option: value})


def test_a_corpus_without_gold_cannot_train() -> None:
    bare = dataclasses.replace(with_gold(tale(0), [None] * tale(0).n_mentions), gold=None)
    for documents in ([], [bare]):
        with pytest.raises(ParameterError, match="documents must have annotated entities to train on, got none"):
            train(documents, **QUICK)


def test_documents_that_cannot_be_encoded_are_rejected_by_name() -> None:
    document = with_gold(tale(3), tale(3).labels.tolist())
    with pytest.raises(ParameterError, match=r"^doc_id 'tale-3': tokens is required"):
        train([tale(1), dataclasses.replace(document, tokens=None)], **QUICK)


def test_a_real_corpus_trains_to_a_sane_likelihood(gum_path: Path) -> None:
    documents = [*read_corefud(gum_path.parent / "en_gum-ud-dev.conllu.gz")][:7]
    model = train(documents[:5], held_out=documents[5:], epochs=3, bits=14, orders=1)
    flat = AntecedentModel(np.zeros(256, np.float32), np.zeros(0, np.uint32), SMALL)
    assert model.provenance["held_out"]["loss"] < 0.4 * held_out_figures(flat, documents[5:]).loss

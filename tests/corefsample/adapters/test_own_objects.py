"""The systems' own classes with random weights, where installed: probabilities and clusters agree."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from corefsample import ScoredDocument, map_clustering
from corefsample.adapters import from_fastcoref, from_spacy_experimental, from_stanza, recorded_stanza_scores

pytestmark = pytest.mark.filterwarnings("ignore")
WORDS = ["John", "Smith", "picked", "up", "the", "red", "ball", "and", "he", "threw", "it", "away", "."]


def installed(*names: str) -> list[Any]:
    """The modules; skips if a library is missing or incompatible with the others."""
    modules = []
    for name in names:
        try:
            modules.append(pytest.importorskip(name))
        except (ImportError, ValueError, AttributeError) as error:
            pytest.skip(f"{name} cannot be imported: {error}")
    return modules


def clusters(document: ScoredDocument) -> list[list[tuple[int, ...]]]:
    """Clusters of two mentions and more of the likeliest antecedents, as spans."""
    found: dict[int, list[tuple[int, ...]]] = {}
    for span, label in zip(document.mentions[:, :2].tolist(), map_clustering(document.antecedents), strict=True):
        found.setdefault(int(label), []).append(tuple(span))
    return sorted(sorted(cluster) for cluster in found.values() if len(cluster) > 1)


def test_spacy_experimental() -> None:
    torch, spacy, _ = installed("torch", "spacy", "spacy_experimental.coref.coref_component")
    torch.manual_seed(1)
    nlp = spacy.blank("en")
    model = {
        "@architectures": "spacy-experimental.Coref.v1",
        "distance_embedding_size": 4,
        "hidden_size": 8,
        "depth": 1,
        "dropout": 0.0,
        "antecedent_limit": 5,
        "antecedent_batch_size": 7,
        "tok2vec": {
            "@architectures": "spacy.HashEmbedCNN.v2",
            "pretrained_vectors": None,
            "width": 16,
            "depth": 1,
            "embed_size": 100,
            "window_size": 1,
            "maxout_pieces": 2,
            "subword_features": False,
        },
    }
    component = nlp.add_pipe("experimental_coref", config={"model": model})
    doc = spacy.tokens.Doc(nlp.vocab, words=WORDS)
    gold = spacy.tokens.Doc(nlp.vocab, words=WORDS)
    gold.spans["coref_clusters_1"] = [gold[0:1], gold[8:9]]
    nlp.initialize(lambda: [spacy.training.Example(doc, gold)])
    scores, antecedents = component.model.predict([doc])
    document = from_spacy_experimental(doc, (scores, antecedents), doc_id="a")
    probs = np.exp(scores - scores.max(1, keepdims=True)).astype(float)
    probs /= probs.sum(1, keepdims=True)
    np.testing.assert_allclose(document.antecedents.new_probs, probs[:, 0], atol=1e-6)
    assert clusters(document) == sorted(sorted(cluster) for cluster in component.predict([doc])[0])
    assert document.metadata["adapter"]["left_out_mass"] == 0.0


@pytest.mark.parametrize("singletons", [False, True])
def test_stanza(singletons: bool) -> None:
    torch, models, rough, anaphoricity, documents = installed(
        "torch",
        "stanza.models.coref.model",
        "stanza.models.coref.rough_scorer",
        "stanza.models.coref.anaphoricity_scorer",
        "stanza.models.common.doc",
    )
    torch.manual_seed(2)
    n_words, size, config = (
        13,
        8,
        SimpleNamespace(dropout_rate=0.0, rough_k=6, hidden_size=8, n_hidden_layers=1, singletons=singletons),
    )
    model = models.CorefModel.__new__(models.CorefModel)  # without its transformer
    model.rough_scorer = rough.RoughScorer(size, config).eval()
    scorer = anaphoricity.AnaphoricityScorer(3 * size + 2, config).eval()

    def run(doc: Any) -> Any:  # the part of CorefModel.run that scores
        with torch.no_grad():
            words = torch.randn(n_words, size)
            top_scores, top, _ = model.rough_scorer(words)
            pairs = torch.randn(n_words, top.shape[1], 2)
            scores = scorer(
                top_mentions=words[top], mentions_batch=words, pw_batch=pairs, top_rough_scores_batch=top_scores
            )
        result = models.CorefResult(coref_scores=scores)
        result.word_clusters = model._clusterize(doc, scores, top, singletons)
        result.span_clusters = [[(i, i + 1) for i in cluster] for cluster in result.word_clusters]
        return result

    model.run = run
    with recorded_stanza_scores(model) as records:
        result = model.run({"cased_words": WORDS})
    assert model.run is run
    words = [{"id": i + 1, "text": word, "head": i, "deprel": "dep"} for i, word in enumerate(WORDS)]
    document = from_stanza(documents.Document([words]), records[0], doc_id="a")
    assert document.tokens is not None
    assert document.tokens.head.tolist() == [-1, *range(12)]
    probs = torch.softmax(result.coref_scores.double(), 1).numpy()
    np.testing.assert_allclose(document.antecedents.new_probs, probs[:, : 1 + singletons].sum(1), atol=1e-12)
    # Stanza's answer leaves "begins an entity" aside when it looks for antecedents.
    scores = records[0].scores[:, int(singletons) :]
    theirs = sorted([(i, i + 1) for i in cluster] for cluster in result.word_clusters if len(cluster) > 1)
    alone = from_stanza(documents.Document([words]), (scores, records[0].antecedents), doc_id="a")
    assert clusters(alone) == theirs


def test_fastcoref() -> None:
    torch, transformers, fcoref, modeling, util = installed(
        "torch",
        "transformers",
        "fastcoref.coref_models.modeling_fcoref",
        "fastcoref.modeling",
        "fastcoref.utilities.util",
    )
    torch.manual_seed(3)
    config = transformers.RobertaConfig(
        vocab_size=50, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16
    )
    config.coref_head = {"max_span_length": 3, "top_lambda": 0.6, "ffnn_size": 8, "dropout_prob": 0.0}
    model = fcoref.FCorefModel(config).eval()
    texts = [WORDS, WORDS[8:11]]
    # every third word has two pieces; special tokens at both ends; the short text is filled up
    pieces = [[None, *(i for i in range(len(text)) for _ in range(1 + (i % 3 == 0))), None] for text in texts]
    length = max(map(len, pieces))
    ids = [[7 * j % 48 + 2 for j in range(len(row))] + [1] * (length - len(row)) for row in pieces]
    attended = [[1] * len(row) + [0] * (length - len(row)) for row in pieces]
    leftovers: dict[str, list[Any]] = {"input_ids": [], "attention_mask": []}
    batch = {
        "input_ids": torch.tensor(ids)[:, None, :],
        "attention_mask": torch.tensor(attended)[:, None, :],
        "leftovers": leftovers,
    }
    with torch.no_grad():
        starts, ends, _, logits = (tensor.numpy() for tensor in model(batch, return_all_outputs=True))
    for i, text in enumerate(texts):
        offsets = [(j, j + 1) for j in range(len(text))]
        char_map, reverse = util.align_to_char_level(starts[i], ends[i], offsets, pieces[i])
        result = modeling.CorefResult(text, [], char_map, reverse, logits[i], i)
        document = from_fastcoref(result, doc_id=str(i))
        rows = sorted(row for row, _ in char_map.values() if row is not None)
        assert document.n_mentions == len(rows)
        probs = torch.softmax(torch.tensor(logits[i]).double(), 1).numpy()
        summary = document.metadata["adapter"]
        # what was left out is what was lost: each NEW grows by the mass of its row that is gone
        lost = sorted(1 - probs[rows, -1] / document.antecedents.new_probs[_places(document, rows, char_map)])
        assert sum(lost) == pytest.approx(summary["left_out_mass"], abs=1e-9)
        assert summary["rows_without_span"] == logits[i].shape[0] - len(rows)


def _places(document: ScoredDocument, rows: list[int], char_map: Any) -> list[int]:
    """Where each row is among the document's mentions; rows of one span keep their order."""
    spans = {row: span for row, span in char_map.values() if row is not None}
    order = sorted(range(len(rows)), key=lambda r: (spans[rows[r]][0], -spans[rows[r]][1], rows[r]))
    return [order.index(r) for r in range(len(rows))]

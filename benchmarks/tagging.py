"""Linear chains against python-crfsuite and hmmlearn, on newswire sentences or simulated ones."""

from __future__ import annotations

import re
import sys
import tempfile
import tracemalloc
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from measure import Row, faster, in_turn, within

from corefsample.tagging import LinearChain, tag_marginals

WSJ = Path(__file__).parents[1] / ".." / "shared" / "data" / "wsj-sample" / "treebank.zip"
N_TRAINING, N_TEST, N_TAGS, N_SAMPLES = 1500, 100, 45, 1000
Sentence = list[tuple[str, str]]


def newswire(path: Path) -> list[Sentence]:
    """Tagged sentences of the Treebank sample; one ends at each full stop."""
    sentences: list[Sentence] = []
    with zipfile.ZipFile(path) as archive:
        for name in sorted(archive.namelist()):
            if re.search(r"tagged/.*\.pos$", name):
                for block in re.split(r"={10,}", archive.read(name).decode("latin1")):
                    sentences.extend(_cut([piece.rsplit("/", 1) for piece in block.split() if "/" in piece]))
    return sentences


def _cut(tokens: list[list[str]]) -> Iterator[Sentence]:
    sentence: Sentence = []
    for word, tag in tokens:
        sentence.append((word, tag.split("|")[0]))
        if tag == ".":
            yield sentence
            sentence = []
    if sentence:
        yield sentence


def simulated() -> list[Sentence]:
    """Sentences of a random hidden Markov model with 45 tags, about 24 tokens long."""
    rng = np.random.default_rng(0)
    transitions = rng.dirichlet(np.full(N_TAGS, 0.1), N_TAGS)
    sentences = []
    for _ in range(N_TRAINING + N_TEST):
        tag, sentence = int(rng.integers(N_TAGS)), []
        for _ in range(max(1, int(rng.poisson(24)))):
            tag = int(rng.choice(N_TAGS, p=transitions[tag]))
            sentence.append((f"w{int(rng.zipf(1.5)) % 500 + 50 * tag}", f"T{tag}"))
        sentences.append(sentence)
    return sentences


def features(sentence: Sentence) -> list[list[str]]:
    return [[f"word={word.lower()}", f"suffix={word[-3:]}", "bias"] for word, _ in sentence]


def tagging_rows(runs: int) -> Iterator[Row]:
    try:
        import pycrfsuite
    except ModuleNotFoundError:
        print("left out: the rows of tagging, as python-crfsuite is not installed", file=sys.stderr)
        return
    sentences, text = (newswire(WSJ), "newswire") if WSJ.exists() else (simulated(), "simulated")
    with tempfile.TemporaryDirectory() as folder:
        trainer = pycrfsuite.Trainer(verbose=False)
        trainer.set_params({"c2": 1.0, "max_iterations": 30, "feature.possible_transitions": True})
        for sentence in sentences[:N_TRAINING]:
            trainer.append(features(sentence), [tag for _, tag in sentence])
        trainer.train(f"{folder}/model")
        tagger = pycrfsuite.Tagger()
        tagger.open(f"{folder}/model")
        items = [features(sentence) for sentence in sentences[N_TRAINING : N_TRAINING + N_TEST]]
        labels, info = tagger.labels(), tagger.info()
        index = {label: t for t, label in enumerate(labels)}
        pairwise = np.zeros((len(labels), len(labels)))
        for (s, t), weight in info.transitions.items():
            pairwise[index[s], index[t]] = weight
        weights: dict[str, np.ndarray] = {}
        for (attribute, t), weight in info.state_features.items():
            weights.setdefault(attribute, np.zeros(len(labels)))[index[t]] = weight
        nothing = np.zeros(len(labels))
        unaries = [np.array([sum((weights.get(a, nothing) for a in f), nothing) for f in each]) for each in items]

        def crfsuite() -> None:
            for each in items:
                tagger.set(each)
                for i in range(len(each)):
                    for label in labels:
                        tagger.marginal(label, i)

        work = f"{{}}, {N_TEST} {text} sentences, {len(labels)} tags"
        name = "python-crfsuite, set + marginal of all"
        yield faster(
            work.format("marginals"), name, in_turn(lambda: tag_marginals(unaries, pairwise), crfsuite, runs, 9), 12
        )
        single = in_turn(lambda: [LinearChain.from_scores(u, pairwise).marginals() for u in unaries], crfsuite, runs, 9)
        yield faster(work.format("marginals, one call each"), name, single)
        yield from hidden_markov(work.format("marginals of an HMM"), unaries, pairwise, runs)
        unary = np.concatenate([u for u in unaries if len(u) > 5])[:25]
        chain = LinearChain.from_scores(unary, pairwise)
        sides = in_turn(lambda: chain.sample(N_SAMPLES), lambda: LinearChain.from_scores(unary, pairwise), runs * 30, 3)
        yield within(f"{N_SAMPLES:,} samples of 25 tokens, {len(labels)} tags", "its forward-backward", sides, 10)
    yield memory()


def hidden_markov(work: str, unaries: list[np.ndarray], pairwise: np.ndarray, runs: int) -> Iterator[Row]:
    """The same scores as a hidden Markov model whose emissions are given."""
    try:
        from hmmlearn.base import BaseHMM
    except ModuleNotFoundError:
        print("left out: the row of hmmlearn, which is not installed", file=sys.stderr)
        return

    class Given(BaseHMM):  # type: ignore[misc]
        def _compute_log_likelihood(self, X: np.ndarray) -> np.ndarray:  # noqa: N803
            return X

        def _check(self) -> None:
            pass

    n_tags = len(pairwise)
    transitions = np.exp(pairwise) / np.exp(pairwise).sum(axis=1, keepdims=True)
    model = Given(n_tags)
    model.startprob_, model.transmat_ = np.full(n_tags, 1.0 / n_tags), transitions
    model.n_features = n_tags

    def theirs() -> None:
        for unary in unaries:
            model._score(unary, None, compute_posteriors=True)

    logs = np.log(transitions)
    yield faster(
        work, "hmmlearn's scaled posteriors", in_turn(lambda: tag_marginals(unaries, logs), theirs, runs, 9), 1
    )


def memory() -> Row:
    """Peak memory of one chain of 10**5 tokens, its pair marginals streamed, against eight arrays of its scores."""
    unary = np.random.default_rng(0).normal(0.0, 2.0, (100_000, N_TAGS))
    pairwise = np.zeros((N_TAGS, N_TAGS))
    tracemalloc.start()
    chain = LinearChain.from_scores(unary, pairwise)
    for _, _block in chain.pair_marginal_blocks():
        pass
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    bound = 8 * unary.nbytes
    return Row(
        f"peak memory, 100,000 tokens, {N_TAGS} tags, pairs streamed",
        "8 arrays (n, n_tags)",
        float(peak),
        float(bound),
        peak / bound,
        "<= 1x of it",
        peak <= bound,
    )

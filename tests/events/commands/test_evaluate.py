"""corefsample evaluate: cases of the reference scorer, matches by head, missing documents, comparisons, posterior."""

import re
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from command_line import Calls
from expected_errors import error
from hypothesis import given, strategies as st
from places import data_lines

from corefsample import InputError, clustering_scores, map_clustering, write_documents
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.formats.annotated._conll2012 import write_conll2012
from corefsample.metrics._scores import corpus_scores
from events import simulate_documents
from events.commands.evaluate import EvaluateOptions, run_evaluate

WORDS = "abcdefwxyz"


def conll(path: Path, entities: Sequence[str], *, doc_id: str = "t", words: str = WORDS) -> Path:
    """A file whose words are letters: an entity lists its mentions, of one letter, or of letters from - to."""
    spans = [
        (entity, *((words.index(mention[0]), words.index(mention[-1]))))
        for entity, mentions in enumerate(entities)
        for mention in mentions.split()
    ]
    rows = []
    for t, word in enumerate(words):
        opened = [f"({e}" + (")" if end == t else "") for e, start, end in spans if start == t]
        closed = [f"{e})" for e, start, end in spans if end == t > start]
        rows.append(f"{doc_id}\t0\t{t}\t{word}\t-\t{'|'.join(opened + closed) or '-'}")
    path.write_text("\n".join([f"#begin document ({doc_id});", *rows, "", "#end document", ""]))
    return path


@pytest.mark.parametrize("case", data_lines("reference_scorer_cases.txt"), ids=lambda case: case.partition(" | ")[0])
def test_cases_of_the_reference_scorer_have_its_scores(tmp_path: Path, case: str) -> None:
    _, n_repeated, entities, *scores = case.split(" | ")
    gold = conll(tmp_path / "gold.conll", ["a", "b c", "d e f"])
    run = run_evaluate(conll(tmp_path / "s.conll", entities.split(", ")), gold, EvaluateOptions(n_resamples=2))
    for metric, values in zip(("muc", "b3", "ceafm", "ceafe", "blanc"), scores, strict=True):
        if values != "-":
            score = getattr(run.result[0], metric)
            expected = [float(Fraction(value)) for value in values.split()]
            assert [score.recall, score.precision, score.f1] == pytest.approx(expected, abs=5e-6), metric
    assert run["n_repeated"] == int(n_repeated)


def test_of_two_entities_with_one_mention_the_first_to_begin_has_it(tmp_path: Path) -> None:
    # {a d} begins before {c d}: d stays with a, although {c d} is the entity of gold.
    gold = conll(tmp_path / "gold.conll", ["a", "c d"])
    for entities in (["a d", "c d"], ["c d", "a d"]):
        run = run_evaluate(conll(tmp_path / "system.conll", entities), gold, EvaluateOptions(n_resamples=2))
        assert run.result[0].muc.f1 == 0.0
        assert run["n_repeated"] == 1


@pytest.mark.parametrize("match", ["span", "head"])
def test_a_span_of_two_gold_entities_is_the_same_in_both_files(tmp_path: Path, match: Any) -> None:
    # In gold d is (0)|(1), and entity 1 begins first, so the first d is that of {a d}. The system {a d} {c} has one of
    # two gold links, and no other: MUC recall 1/2, precision 1.
    gold = conll(tmp_path / "gold.conll", ["c d", "a d"])
    options = EvaluateOptions(n_resamples=2, match=match)
    muc = run_evaluate(conll(tmp_path / "system.conll", ["a d", "c"]), gold, options).result[0].muc
    assert (muc.recall, muc.precision) == (0.5, 1.0)
    assert run_evaluate(gold, gold, options).result[0].conll.f1 == 1.0


MENTION = st.sampled_from(["a", "b", "c", "a-b", "b-c", "a-c"])


@given(st.lists(st.lists(MENTION, min_size=2, max_size=4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_a_file_has_full_scores_against_itself_and_against_its_entities_in_another_order(
    tmp_path_factory: pytest.TempPathFactory, entities: list[list[str]], random: Any
) -> None:
    folder = tmp_path_factory.mktemp("files")
    names = [" ".join(mentions) for mentions in entities]
    gold = conll(folder / "gold.conll", names)
    other = conll(folder / "other.conll", random.sample(names, len(names)))
    for system in (gold, other):
        run = run_evaluate(system, gold, EvaluateOptions(n_resamples=2))
        assert run["n_repeated"] == 0
        assert run["scores"][["recall", "precision", "f1"]].min().min() == pytest.approx(1.0)


# --- heads -------------------------------------------------------------------------------------------------

HEADED = """# global.Entity = eid-etype-head-other
# newdoc id = t
1\tThe\tthe\tDET\t_\t_\t3\tdet\t_\tEntity=({0}-x-3-
2\told\told\tADJ\t_\t_\t3\tamod\t_\t_
3\tking\tking\tNOUN\t_\t_\t4\tnsubj\t_\tEntity={1}
4\tslept\tsleep\tVERB\t_\t_\t0\troot\t_\t_
5\the\the\tPRON\t_\t_\t4\tparataxis\t_\tEntity=(e1-x-1-)

"""


def test_mentions_match_by_head_where_their_spans_differ(tmp_path: Path) -> None:
    gold = tmp_path / "gold.conllu"
    gold.write_text(HEADED.format("e1", "e1)"))
    words = ["The", "old", "king", "slept", "he"]
    marks = ["_", "(1", "1)", "_", "(1)"]
    rows = [f"t\t0\t{t}\t{word}\t{mark}" for t, (word, mark) in enumerate(zip(words, marks, strict=True))]
    system = tmp_path / "system.conll"
    system.write_text("\n".join(["#begin document (t);", *rows, "", "#end document", ""]))
    by_span = run_evaluate(system, gold, EvaluateOptions(n_resamples=2)).result[0]
    by_head = run_evaluate(system, gold, EvaluateOptions(n_resamples=2, match="head")).result[0]
    assert by_span.counts["mentions"].tolist() == [2, 2, 1]  # "old king" is not "The old king"
    assert by_span.muc.f1 == 0.0
    assert by_head.counts["mentions"].tolist() == [2, 2, 2]
    assert by_head.conll.f1 == 1.0


@pytest.mark.parametrize(
    ("system", "counts", "n_repeated"),
    [
        # Without a parse the head is the last word: gold has d-f and e-f. Equal spans match first (e-f); then c-f
        # matches d-f, with three words in common, and f is twinless.
        (["c-f a", "e-f b", "f"], [4, 5, 4], 0),
        (["c-f a", "e-f b", "f", "e-f f"], [4, 5, 4], 2),  # both of the last repeat a span
        # c-f is d-f, the nearer one; the second c-f repeats it, and is neither e-f nor a mention of its own.
        (["c-f a", "c-f b"], [4, 3, 3], 1),
    ],
)
def test_of_mentions_with_one_head_the_nearest_match(
    tmp_path: Path, system: list[str], counts: list[int], n_repeated: int
) -> None:
    gold = conll(tmp_path / "gold.conll", ["d-f a", "e-f b"])
    run = run_evaluate(conll(tmp_path / "s.conll", system), gold, EvaluateOptions(n_resamples=2, match="head"))
    assert (run.result[0].counts["mentions"].tolist(), run["n_repeated"]) == (counts, n_repeated)
    assert (run.result[0].muc.f1 == 1.0) == (len(system) > 2)


# --- documents ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def documents() -> list[Any]:
    return [each.document for each in simulate_documents(12, event_share=0.7, seed=3)]


@pytest.fixture
def scored(tmp_path: Path, documents: list[Any]) -> Path:
    write_documents(documents, tmp_path / "s.jsonl")
    return tmp_path / "s.jsonl"


def test_scored_documents_are_scored_by_their_likeliest_clustering(scored: Path, documents: list[Any]) -> None:
    run = run_evaluate(scored, scored, EvaluateOptions(n_samples=200, n_resamples=200))
    expected = corpus_scores(clustering_scores(each.gold, map_clustering(each.antecedents)) for each in documents)
    assert run.result[0] == expected
    assert run.result[1].n_samples == 200
    lower, upper = run["intervals"]["conll"]
    assert lower <= run.result[0].conll.f1 <= upper
    assert run_evaluate(scored, scored, EvaluateOptions(n_samples=0, n_resamples=2)).result[1] is None


def test_gold_of_another_format_gives_the_same_scores(tmp_path: Path, scored: Path, documents: list[Any]) -> None:
    write_conll2012(map(AnnotatedDocument.from_scored, documents), tmp_path / "g.conll")
    options = EvaluateOptions(n_samples=0, n_resamples=2)
    in_both = [run_evaluate(scored, gold, options).result[0] for gold in (scored, tmp_path / "g.conll")]
    assert in_both[0] == in_both[1]
    assert run_evaluate(tmp_path / "g.conll", scored, options).result[0].conll.f1 == 1.0


def test_gold_documents_that_the_system_lacks_count_as_without_entities(tmp_path: Path, documents: list[Any]) -> None:
    write_documents(documents[:8], tmp_path / "system.jsonl")
    write_documents(documents[2:], tmp_path / "gold.jsonl")
    run = run_evaluate(tmp_path / "system.jsonl", tmp_path / "gold.jsonl", EvaluateOptions(n_samples=50))
    assert (run["n_documents"], run["n_not_in_system"], run["n_not_in_gold"]) == (10, 4, 2)
    responses = [map_clustering(each.antecedents).tolist() for each in documents[2:8]]
    responses += [[None] * each.n_mentions for each in documents[8:]]
    golds = [each.gold for each in documents[2:]]
    expected = corpus_scores(map(clustering_scores, golds, responses))
    assert run.result[0] == expected
    assert run.result[1].counts["mentions"][0].tolist() == run.result[0].counts["mentions"].tolist()


def test_a_comparison_is_of_the_same_documents(call: Calls, tmp_path: Path, scored: Path, documents: list[Any]) -> None:
    write_conll2012(map(AnnotatedDocument.from_scored, documents), tmp_path / "g.conll")
    options = EvaluateOptions(against=str(scored), n_samples=0, n_resamples=500)
    run = run_evaluate(tmp_path / "g.conll", scored, options)
    conll_f1 = next(each for each in run["differences"] if each["metric"] == "conll")
    assert (conll_f1["first"], conll_f1["second"]) == (1.0, run_evaluate(scored, scored).result[0].conll.f1)
    assert 0.0 < conll_f1["lower"] <= conll_f1["difference"] <= conll_f1["upper"]
    out = call.good("evaluate", tmp_path / "g.conll", scored, "--against", scored)
    row = next(line for line in out.splitlines() if line.startswith("CoNLL"))
    assert row.split()[1:4] == ["100.00", "100.00", "100.00"]
    assert f"{100 * conll_f1['difference']:+.2f}" in out


# --- errors ------------------------------------------------------------------------------------------------


def test_mentions_over_the_end_of_a_sentence_count(tmp_path: Path) -> None:
    # Key {a f}, response {a f} {b-c}, where a sentence ends after b: as the reference scorer, recall 1, precision 1/2.
    gold, system = conll(tmp_path / "gold.conll", ["a f"]), conll(tmp_path / "system.conll", ["a f", "b-c d"])
    for path in (gold, system):
        path.write_text(re.sub(r"(.*\tb\t.*\n)", r"\1\n", path.read_text()))
    scores = run_evaluate(system, gold).result[0]
    assert (scores.b3.recall, scores.b3.precision) == (1.0, 0.5)
    assert run_evaluate(gold, gold).result[0].conll.f1 == 1.0


@pytest.mark.parametrize(
    ("response", "place", "message"),
    [
        ({"words": "abXdefwxyz"}, "doc_id 't'", "[2] 'c', got 'X'"),
        ({"words": WORDS + "u"}, "system.conll: doc_id 't'", "(10), got 11"),
        ({"doc_id": "u"}, "system.conll", "got none of 1 documents"),
    ],
)
def test_documents_of_other_words_or_other_names_raise(
    tmp_path: Path, response: dict[str, str], place: str, message: str
) -> None:
    gold = conll(tmp_path / "gold.conll", ["a b"])
    with error(InputError, place=place) as raised:
        run_evaluate(conll(tmp_path / "system.conll", ["a b"], **response), gold)
    assert message in str(raised.value)

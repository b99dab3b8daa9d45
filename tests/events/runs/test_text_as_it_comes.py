"""corefsample score says what is wrong with texts, and repairs them where it is told to."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
from run_cases import score_corpus, stop_after

from corefsample import read_documents
from events.news._preparation import body_words
from events.news._quality import TextTally, has_mojibake, is_lower_case, tally_of_run
from events.runs._run_options import ScoringOptions

TEXTS = {
    "a": "France attacked Iraq .",
    "b": "france attacked iraq , and the rebels left the town .",
    "c": "The rebels didnâ€™t leave .",
    "d": "The rebels \N{REPLACEMENT CHARACTER} left .",
}


@pytest.fixture
def news(tmp_path: Path) -> Path:
    path = tmp_path / "news.jsonl"
    rows = [{"doc_id": name, "date": "2001-02-03", "text": text} for name, text in TEXTS.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_continued_run_counts_all_texts(news: Path, model_path: Path, tiny: str) -> None:
    rows = [json.loads(line) for line in news.read_text(encoding="utf-8").splitlines()]
    rows = [{**rows[1 if n % 4 else 0], "doc_id": str(n)} for n in range(20)]
    news.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    out = news.with_name("s.jsonl")
    options = ScoringOptions(model=str(model_path), pipeline=tiny)
    with pytest.raises(KeyboardInterrupt):
        score_corpus(news, out, options, workers=1, on_progress=stop_after(1, out))
    run = score_corpus(news, out, options)
    assert (run.n_resumed, run.texts) == (16, dataclasses.asdict(TextTally(n_texts=20, n_lower_case=15)))


WORDS = " ".join(f"The rebels left town {n} ." for n in range(6))  # 30 words
COPIED = {
    "first": f"France attacked Iraq . {WORDS}",
    "wire": f"FRANCE ATTACKED IRAQ!\n\n{WORDS.lower()}",
    "other": f"France attacked Iran . {WORDS}",
    "short": "France attacked Iraq .",
    "short again": "France attacked Iraq .",
    "last": f"“France” attacked Iraq {WORDS}",
}
BODY = f"France attacked Iraq. {WORDS} Nine died."
# Versions of BODY, and texts that are not: with another figure, without a sentence, with other words at their end.
COPIES = [
    *(f"{head}{BODY}" for head in ("NAIROBI, Kenya (AP) — ", "UPDATE 2-", "By Jane Doe\n\nPARIS (Xinhua) -- ")),
    *(
        f"{BODY} {tail}"
        for tail in ("(Reporting by A. B.; Editing by C. D.)", "\n© 2026 AFP", "Read more on our site.")
    ),
    *(f"<p>{BODY.replace(' Nine', '</p><p>Nine')}</p>", BODY.upper(), f"{BODY} (Reuters)\n\nCopyright 2026 Reuters."),
]
OTHERS = [BODY.replace("Nine", name) for name in ("9", "Ten", "")]
OTHERS += [f"{BODY} {text}" for text in ("He wrote by hand.", "The army told Reuters.", "Report by 9.")]
OTHERS += [BODY.replace("town 5", "town 50"), BODY.replace("Nine", "Nine %"), f"{BODY} They read more. "]


def test_versions_of_one_story_are_recognised_by_the_words_of_its_body() -> None:
    assert [text for text in COPIES if body_words(text) != body_words(BODY)] == []
    assert len({tuple(body_words(text)) for text in (BODY, *OTHERS)}) == 1 + len(OTHERS)


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    path = tmp_path / "copied.jsonl"
    rows = [{"doc_id": name, "date": "2001-02-03", "text": text, "desk": "Foreign"} for name, text in COPIED.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


@pytest.mark.parametrize("duplicates", ["keep", "drop"])
def test_texts_that_come_again_are_listed_and_kept_or_dropped(
    copied: Path, model_path: Path, tiny: str, duplicates: Any, caplog: pytest.LogCaptureFixture
) -> None:
    out = copied.with_name("s.jsonl")
    options = ScoringOptions(model=str(model_path), pipeline=tiny, duplicates=duplicates)
    run = score_corpus(copied, out, options, workers=1)
    # The words decide, whatever their case and punctuation; texts below 20 words are alike by chance.
    assert (run.n_repeated, run.duplicates) == (2, f"{out}.duplicates.csv")
    listed = list(csv.reader(Path(f"{out}.duplicates.csv").read_text("utf-8").splitlines()))
    assert listed == [["doc_id", "date", "first"], *([name, "2001-02-03", "first"] for name in ("wire", "last"))]
    documents = {document.doc_id: document for document in read_documents(out)}
    kept = [name for name in COPIED if duplicates != "drop" or name not in ("wire", "last")]
    assert [*documents] == kept
    assert all(each.metadata["desk"] == "Foreign" for each in documents.values())
    warned = [each.getMessage() for each in caplog.records if "are counted too" in each.getMessage()]
    assert len(warned) == (duplicates == "keep")
    assert not warned or {"2", "'wire'", "'first',"} <= set(warned[0].split())


# --- texts that lost their upper case or their encoding are recognised ------------


# What people write in news, whose UTF-8 is more than one byte each.
NOT_ASCII = "éèêàçñöüßÅØ£§«»°·“”‘’–—…•€™😀¡¿"


def misread(text: str, encoding: str) -> str:
    """UTF-8 read as an encoding of one byte a character, undefined bytes as Latin-1 does."""
    shown = []
    for byte in text.encode():
        try:
            shown.append(bytes([byte]).decode(encoding))
        except UnicodeDecodeError:
            shown.append(chr(byte))
    return "".join(shown)


@pytest.mark.parametrize("character", NOT_ASCII)
@pytest.mark.parametrize("encoding", ["cp1252", "latin-1"])
def test_a_misread_character_is_mojibake_and_the_right_one_is_not(character: str, encoding: str) -> None:
    assert has_mojibake(f"He said{misread(character, encoding)} that")
    assert not has_mojibake(f"He said{character} that")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("police fired on the crowd and killed two men in the town.", True),
        ("police fired on the crowd and killed two men in the Town.", False),
        ("two arrested", False),  # too short to tell
        ("警察" * 40, False),  # a script without cases
        ("1999 " * 40, False),
        ("", False),
        ("a" * 40, True),
        ("a" * 39 + "1", False),
    ],
)
def test_a_text_without_upper_case_is_recognised_from_40_letters(text: str, expected: bool) -> None:
    assert is_lower_case(text) == expected


def test_texts_are_counted_by_fault_and_counts_add_up() -> None:
    tally = TextTally.of("The U.S. attacked.") + TextTally.of("it didnâ€™t say so. " * 4)
    tally += TextTally.of("lost \N{REPLACEMENT CHARACTER}")
    assert tally == TextTally(n_texts=3, n_lower_case=1, n_mojibake=1, n_lost=1)
    texts = [dataclasses.asdict(tally), {"n_texts": 1, "n_repaired": 1}]  # of an earlier version
    record = {"inputs": [{"scoring": {"texts": each}} for each in texts]}
    assert tally_of_run(record) == tally + TextTally(n_texts=1)

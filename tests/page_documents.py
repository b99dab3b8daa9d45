"""Hand-made documents that would break an unsafe page, with a hostile country name and title."""

import datetime
from collections.abc import Sequence

import numpy as np
from references import events as er

from corefsample import AntecedentDistribution, ScoredDocument, Tokens

HOSTILE_ID = "</script><script>alert(2)</script>\"'& שלום 👩‍👧"
HOSTILE_WORDS = ("<script>alert(1)</script>", "</script>\"'&<!--", "שלום", "مرحبا", "👩‍👧")
HOSTILE_ABOUT = {
    "<img src=x onerror=alert(3)>": "</title><script>alert(4)</script>",
    "lines": "one\u2028two\u2029three",
}
HOSTILE_CODE, HOSTILE_NAME = "X-<b", "Ruritania</script><script>alert(5)</script>"
HOSTILE_TITLE = "Who <b>attacks</b>? </title><script>alert(6)</script>"
LEXICON = f"""
version: 1
extends: countries
entries:
  - {{code: "{HOSTILE_CODE}", name: "{HOSTILE_NAME}", aliases: [Ruritanian]}}
"""
DAY = datetime.date(1995, 5, 5)


def document(
    doc_id: str,
    sentences: Sequence[str],
    mentions: Sequence[tuple[int, int, int]],
    links: Sequence[dict[int, float]],
    words: dict[int, str] | None = None,
    about: dict[str, str] | None = None,
) -> ScoredDocument:
    """A document in the notation of `event_references`; `words` replaces the texts of some tokens."""
    columns = er.token_columns(sentences)
    columns["text"] = [(words or {}).get(t, text) for t, text in enumerate(columns["text"])]
    return ScoredDocument(
        doc_id,
        np.array(mentions, np.int32),
        AntecedentDistribution.from_lists([list(each) for each in links], [list(each.values()) for each in links]),
        date=DAY,
        tokens=Tokens(**columns),
        metadata=about or {},
    )


def hostile() -> ScoredDocument:
    """Mark-up, quotes, right-to-left scripts and emoji wherever text is allowed."""
    sentences = [
        "Ruritanian/ADJ>2:amod troops/NOUN>3:nsubj entered=enter/VERB>0:root A/NOUN>3:obj B/NOUN>3:obj",
        "They/PRON>2:nsubj attacked=attack/VERB>0:root C/NOUN>2:obj D/NOUN>2:obj E/NOUN>2:obj ./PUNCT>2:punct",
    ]
    words = dict(zip((3, 4, 7, 8, 9), HOSTILE_WORDS, strict=True))
    mentions = [(0, 2, 1), (3, 4, 3), (4, 5, 4), (5, 6, 5), (7, 8, 7)]
    links = [{}, {0: -2.0}, {}, {0: 0.25, 1: -1.0}, {1: 0.5}]
    return document(HOSTILE_ID, sentences, mentions, links, words, HOSTILE_ABOUT)

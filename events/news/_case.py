"""Capitals and title case, rewritten as sentences are: a small truecaser of word lists and of the article itself.

Taggers and parsers learn from sentences. In "REBELS KILL NINE" and in "Rebels Kill Nine" they find names and no verb.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from corefsample._arrays import Bools
from events.news._names import common_words, words_of, written_names

Known = Callable[[Sequence[str]], Bools]  # which words, in lower case, a vocabulary has

_SHARE = 0.85  # of upper case in capitals; of capitalised words in title case
_FEWEST_LETTERS, _FEWEST_WORDS = 12, 3
_WORD = re.compile(r"[^\W\d_]+")
_START = re.compile(r"(?:^|[.!?:]['\"’”)\]]*\s+|^\W*\d+\.\s+)['\"‘“(\[]*$")
_ABBREVIATION = re.compile(
    r"(?:\b[A-Za-z]|\b(?:Mr|Mrs|Ms|Dr|St|Gen|Col|Lt|Sgt|Capt|Maj|Sen|Rep|Gov|No|Jr|Sr))\.\s+$", re.I
)
_DAY_BEFORE, _DAY_AFTER = re.compile(r"\d $"), re.compile(r" \d")
_ALONE = re.compile(r"[(\[]([A-Z]{2,6})[)\]]")
_EXPLAINED = re.compile(r"\b([A-Z]{2,6}) [(\[]([^()\[\]]+)[)\]]")
_TITLES = words_of(
    "mr mrs ms dr president minister general gen colonel col captain capt major lieutenant lt sergeant sgt senator sen "
    "governor gov mayor judge king queen prince princess pope bishop archbishop father saint st san santa don doctor "
    "professor commander ambassador secretary chairman deputy representative congressman alias named"
)
# Given names, surnames of leaders and months that are more often words.
_WORDS_TOO = words_of(
    "will mark rose bill ray dawn joy guy dean drew don jack gene pat art hope faith frank grant lance miles "
    "chase sue iris ruby eve rob nick major brown young king park rice short may march ivy lily grace max earl "
    "ross jay toni van be so do an in on la no man sun long li hu shah"
)
# Ends of words that are seldom names: an unknown word without one of them is taken for a name.
_COMMON_END = re.compile(
    r"(?:s|ed|ing|ly|ion|ment|ness|ity|ism|ist|er|or|al|ous|ive|ble|ic|ary|ory|nce|ship|hood|less|ful|ent|ant|ure|i[sz]e|ate|"
    r"th|age|man|men|y)$"
)
_SHORT_TITLES = words_of("mr mrs ms dr gen col capt lt sgt sen gov st")
_UNITS = words_of("km kg mm cm vs mph kph th rd nd hrs")
_OMITTED = words_of("of for the and in to on a de del la las los el y para")  # in acronyms
_LONGEST_NAME = 8  # words
_CLITICS = words_of("s t re ve ll d m")


def is_in_capitals(text: str) -> bool:
    """Whether nearly all letters of a text, of at least three words, are in upper case."""
    if text.islower():
        return False
    upper, lower = sum(map(str.isupper, text)), sum(map(str.islower, text))
    return upper > _FEWEST_LETTERS and upper >= _SHARE * (upper + lower) and len(_WORD.findall(text)) >= _FEWEST_WORDS


def is_in_title_case(text: str) -> bool:
    """Whether nearly all words of four letters or more are capitalised, and there are at least three."""
    words = [word for word in _WORD.findall(text) if len(word) > 3]
    capitalised = sum(map(str.istitle, words))
    return capitalised >= _FEWEST_WORDS and sum(map(str.islower, words)) <= (1 - _SHARE) * len(words)


def recased(paragraphs: Sequence[str], known: Known) -> list[str]:
    """Paragraphs with those in capitals or in title case as sentences write them; each keeps its length.

    A word is written as the other paragraphs of the article write it within sentences, or as lists of names do. Other
    words are in lower case, but for acronyms, what follows a title ("COL PONCE"), and words that the vocabulary does
    not have and that look like names.

    Parameters
    ----------
    paragraphs
        Those of one article.
    known
        Says which words a vocabulary has.
    """
    changed = [is_in_capitals(text) or is_in_title_case(text) for text in paragraphs]
    if not any(changed):
        return list(paragraphs)
    forms = _forms_within_sentences(
        text for text, is_changed in zip(paragraphs, changed, strict=True) if not is_changed and not text.isupper()
    )
    names = dict(written_names())
    for text in paragraphs:
        for match in _ALONE.finditer(text):
            forms[match[1].lower()] = match[1]
            names |= _spelled_out(match[1], text[max(0, match.start() - 100) : match.start()])
        for match in _EXPLAINED.finditer(text):
            names |= _spelled_out(match[1], match[2])
    return [
        _recased(text, forms, names, known) if is_changed else text
        for text, is_changed in zip(paragraphs, changed, strict=True)
    ]


def _forms_within_sentences(texts: Iterable[str]) -> dict[str, str]:
    """How words are written that do not begin a sentence, by their lower case; in lower case if ever."""
    forms: dict[str, str] = {}
    for text in texts:
        for match in _WORD.finditer(text):
            word = match[0]
            if word.islower() or (not _is_start(text, match.start()) and forms.get(word.lower()) != word.lower()):
                forms[word.lower()] = word
    return forms


def _is_start(text: str, position: int) -> bool:
    before = text[max(0, position - 12) : position]
    return bool(_START.search(before)) and not _ABBREVIATION.search(before) if position else True


def _spelled_out(acronym: str, before: str) -> dict[tuple[str, ...], str]:
    """The name after the last "the" if its words have all initials of an acronym, in the order of any language."""
    words = _WORD.findall(re.split(r"\bthe\b", before, flags=re.I)[-1])
    if not 1 < len(words) <= _LONGEST_NAME or Counter(acronym) - Counter(word[0].upper() for word in words):
        return {}
    name = [word.lower() if word.lower() in _OMITTED else word.capitalize() for word in words]
    return {tuple(map(str.lower, name)): " ".join(name)}


def _recased(text: str, forms: Mapping[str, str], listed: Mapping[tuple[str, ...], str], known: Known) -> str:
    words = list(_WORD.finditer(text))
    lower = [word[0].lower() for word in words]
    if any(len(one) != len(word[0]) for one, word in zip(lower, words, strict=True)):
        return text  # letters whose lower case has another length
    is_known = known(lower) | np.array([word in common_words() or _is_inflected(word) for word in lower], np.bool_)
    in_capitals, names = is_in_capitals(text), _names_in(text, listed)
    letters, before = list(text), ""
    for i, word in enumerate(words):
        start, end = word.span()
        around = text[max(0, start - 1) : start], text[end : end + 2].lower()
        written = names.get(start) or forms.get(lower[i])
        if around[0].isdigit() or (around[0] in ("'", "’") and lower[i] in _CLITICS):
            written = lower[i]
        elif lower[i] in ("march", "may"):
            is_month = _DAY_BEFORE.search(text[:start][-3:]) or _DAY_AFTER.match(text, end)
            written = lower[i].capitalize() if is_month else lower[i]
        elif lower[i] == "us":
            written = "US" if _is_country(text, start, lower[i - 1] if i else "") else "us"
        elif written is None and around[1] in ("'t", "’t") and lower[i].endswith("n"):
            written = lower[i]
        elif written is None and not in_capitals and not word[0].istitle():
            written = word[0]  # in lower case, or an acronym
        elif written is None:
            written = _by_shape(word[0], before, is_known=bool(is_known[i]), has_point=around[1][:1] == ".")
        if before in _TITLES and not written.islower() and words[i - 1].end() + 1 == start:
            letters[words[i - 1].start()] = before[0].upper()
        before = written if written in names.values() or written.lower() in _TITLES else written.lower()
        if _is_start(text, start) and written.islower():
            written = written.capitalize()
        letters[start:end] = written
    return "".join(letters)


def _is_inflected(word: str) -> bool:
    """Whether a word is a form of a common word: halts, halted, halting, seized, defying."""
    stem = re.sub(r"(?:s|es|ed|d|ing|ly)$", "", word)
    bases = {stem, f"{stem}e"}
    if stem.endswith("i"):
        bases.add(f"{stem[:-1]}y")
    elif stem[-2:-1] == stem[-1:]:
        bases.add(stem[:-1])
    return stem != word and not bases.isdisjoint(common_words())


def _by_shape(word: str, before: str, *, is_known: bool, has_point: bool) -> str:
    """How a sentence writes a capitalised word that no list of names has, after another word."""
    lower = word.lower()
    if len(word) == 1:
        return "a" if lower == "a" and not has_point else word
    if lower in _SHORT_TITLES or lower in ("san", "santa", "saint") or before.lower() in _SHORT_TITLES:
        return word.capitalize()
    if lower in _UNITS or is_known or lower in _WORDS_TOO or lower in _TITLES:
        return lower
    if word.isupper() and (len(word) <= 4 or not any(letter in "aeiouy" for letter in lower)):
        return word
    is_after_name = before.lower() in _TITLES or before.istitle()
    return word.capitalize() if is_after_name or not _COMMON_END.search(lower) else lower


def _is_country(text: str, start: int, before: str) -> bool:
    """Whether "US" is the country: after these words, or at the beginning of a sentence; the pronoun is an object."""
    return before in ("the", "and", "said", "that", "anti", "pro") or _is_start(text, start)


def _names_in(text: str, listed: Mapping[tuple[str, ...], str]) -> dict[int, str]:
    """Words of listed names in a text, by their place; of several names the longest."""
    words = list(re.finditer(r"\w+|\S", text))
    lower = tuple(word[0].lower() for word in words)
    found: dict[int, str] = {}
    i = 0
    while i < len(words):
        for length in range(min(_LONGEST_NAME, len(words) - i), 0, -1):
            name = listed.get(lower[i : i + length])
            if name is not None and (length > 1 or (lower[i] not in _WORDS_TOO and lower[i] != "us")):
                written = re.findall(r"\w+|\S", name)
                found |= {word.start(): form for word, form in zip(words[i : i + length], written, strict=True)}
                i += length
                break
        else:
            i += 1
    return found

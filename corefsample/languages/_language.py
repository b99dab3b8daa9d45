"""Resources of a language, read from a folder; features of the parse need none of them.

A language is a folder with `language.yaml`, whose fields are those of `Language`, and perhaps the word lists
`nouns.txt`, `descriptions.txt`, `given_names.txt` and `verbs.txt`, with lines "class: word word ...". In the package it
may have `countries.yaml`, a lexicon as `events` reads it. A language without a folder has the resources of `none`: only
what the universal features of a parse say.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import msgspec

from corefsample.errors import InputError, ParameterError, ParameterHint
from corefsample.files._reading import one_line

if TYPE_CHECKING:
    from corefsample.documents._tokens import Tokens

ENGLISH, NONE = "en", "none"
LANGUAGE_FIELDS = ("lang", "language")  # of documents' metadata
_PACKAGE = Path(__file__).parent
_WORD_LISTS = ("nouns", "descriptions", "given_names", "verbs")
_OF_THREE_LETTERS = {"eng": "en", "spa": "es", "rus": "ru", "kor": "ko", "deu": "de", "fra": "fr"}
_UNKNOWN_CODES = ("", "xx", "mul", "und", NONE)  # of spaCy's multilingual pipelines, and of ISO 639-2

Words = tuple[str, ...]
DescriptionClass = Literal[
    "person", "officer", "politician", "armed", "company", "party", "school", "media", "body", "country", "city",
    "area", "team", "members", "state", "other",
]  # fmt: skip
Kind = Literal["personal", "possessive", "reflexive", "demonstrative", "relative", "indefinite", "existential"]


class Pronouns(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Pronouns, in lower case, that have these properties; what is not given is unknown."""

    words: Words
    kind: Kind
    person: Annotated[int, msgspec.Meta(ge=0, le=3)] = 0
    number: Literal["unknown", "singular", "plural"] = "unknown"
    gender: Literal["unknown", "male", "female", "neuter", "animate"] = "unknown"


class Morphemes(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Convention of a corpus whose words carry particles: the first morpheme is the word.

    Attributes
    ----------
    separator
        Text between the morphemes of a lemma, and between their tags in xpos.
    upos
        Universal part of speech of the first morpheme, by its tag.
    """

    separator: Annotated[str, msgspec.Meta(min_length=1)]
    upos: dict[str, str] = {}


class Language(msgspec.Struct, frozen=True, eq=False, dict=True, omit_defaults=True, forbid_unknown_fields=True):
    """Resources of a language; all words are in lower case.

    Attributes
    ----------
    code
        Code of the language, such as "es"; "none" if the language is unknown.
    resources
        Folder of the resources: a code, or "none".
    natural_gender
        True if only persons and animals are male or female, as in English. Otherwise every noun has a gender, which
        does not tell the sex of what it names.
    lists_first
        True if the lists of pronouns are preferred to the universal features, which otherwise come first.
    plural_by_form
        True if a noun without features is plural whenever it differs from its lemma.
    pronouns
        Pronouns by their properties.
    definite_articles, indefinite_articles, existential
        Determiners and pronouns of these kinds.
    plural_nouns
        Nouns that are plural although they are lemmas.
    endings
        Endings of nouns by what they may name: perhaps_abstract, perhaps_event, perhaps_person.
    no_mentions, no_mentions_before_verb
        Pronouns that are no mentions; those of the second list only if they begin a relative clause.
    possessive_determiners
        True if determiners that stand for a possessor ("su") are mentions.
    reflexive_endings
        Endings of words that refer to the subject of their verb.
    saying
        Verbs of saying and thinking, by lemma.
    conjunctions
        Conjunctions that make one mention of the names that they join.
    words
        Words of the named paths of dependency schemes (of, by, with, between, against, relative, doing), of mentions of
        two countries (meeting, sides, with, to, against), and of the conditions of rules in `events`.
    morphemes
        Convention of a corpus whose words carry particles: see `Morphemes`.
    nouns, given_names
        Words by class: male, female, person, group, place, time, ...
    descriptions
        Nouns by the classes of what they can describe, and of names that contain them: armed, company, party, ...
    verbs
        Inflected forms of verbs, as templates, by regular expressions of the whole verb: see `inflected`.
    """

    code: str = NONE
    resources: str = NONE
    natural_gender: bool = False
    lists_first: bool = False
    plural_by_form: bool = False
    pronouns: tuple[Pronouns, ...] = ()
    definite_articles: Words = ()
    indefinite_articles: Words = ()
    existential: Words = ()
    plural_nouns: Words = ()
    endings: dict[str, Words] = {}
    no_mentions: Words = ()
    no_mentions_before_verb: Words = ()
    possessive_determiners: bool = True
    reflexive_endings: Words = ()
    saying: Words = ()
    conjunctions: Words = ()
    words: dict[str, Words] = {}
    morphemes: Morphemes | None = None
    nouns: dict[str, Words] = {}
    given_names: dict[str, Words] = {}
    descriptions: dict[DescriptionClass, Words] = {}
    verbs: dict[str, Words] = {}

    def __repr__(self) -> str:
        return f"Language({self.code!r}, resources {self.resources!r})"

    @staticmethod
    def of_document(metadata: Mapping[str, Any]) -> Language:
        """Resources for a scored document: those of its language, English where it has none."""
        return load_language(declared_language(metadata) or ENGLISH)

    def other_of(self, metadata: Mapping[str, Any], path: str = "") -> str | None:
        """Code of the language that a document, or the name of its file, declares, if it is another one."""
        declared = declared_language(metadata, path)
        return declared if differ(self.code, declared) else None

    def declared_in(self, metadata: Mapping[str, Any]) -> dict[str, Any]:
        """Metadata of a document with this language, unless they declare one or it is English."""
        is_declared = self.code == ENGLISH or declared_language(metadata) is not None
        return {**metadata} if is_declared else {**metadata, "lang": self.code}

    @cached_property
    def checksum(self) -> int:
        """CRC-32 of all resources that decide mentions and features."""
        resources = msgspec.structs.replace(self, code=NONE, resources=NONE, words={}, verbs={})
        return zlib.crc32(msgspec.json.encode(resources))

    @cached_property
    def noun_classes(self) -> Mapping[str, str]:
        """Class of each noun of the list: the first that has it."""
        return _by_word(self.nouns)

    @cached_property
    def genders_of_names(self) -> Mapping[str, str]:
        """Gender of each given name of the list: the first that has it."""
        return _by_word(self.given_names)

    @cached_property
    def countries(self) -> Mapping[str, frozenset[str]]:
        """Codes of the countries and organisations that each name, in lower case, may mean; with those related to one.

        Names without a code in common are of different countries. What only has the word of one has no code.
        """
        if self.resources not in shipped_languages():
            return {}
        path = _PACKAGE / self.resources / "countries.yaml"
        lists = _read_yaml(path) if path.is_file() else {}
        codes_of_names: dict[str, set[str]] = {}
        for entry in lists.get("entries", ()):
            for name in (entry["name"], *entry.get("aliases", ()), *entry.get("cased", ())):
                codes_of_names.setdefault(name.lower(), set()).add(entry["code"])
        codes_of_names |= {each["alias"].lower(): set(each["codes"]) for each in lists.get("ambiguous", ())}
        codes_of_names |= {name.lower(): set() for name in lists.get("not_countries", ())}
        related = lists.get("related", {})
        # "Russia" may be the Soviet Union, by date; it is no other state that was a part of it.
        return {
            name: frozenset(codes).union(*(related.get(code, ()) for code in codes if len(codes) == 1))
            for name, codes in codes_of_names.items()
        }

    def adapted(self, tokens: Tokens) -> Tokens:
        """Tokens with lemmas and parts of speech as features and mentions need them: see `Morphemes`."""
        rule = self.morphemes
        if rule is None:
            return tokens
        lemma = [each.partition(rule.separator)[0] or each for each in tokens.lemma]
        tags = [str(tag or "").partition(rule.separator)[0] for tag in tokens.extra.get("xpos", [""] * len(tokens))]
        upos = [rule.upos.get(tag, own) for tag, own in zip(tags, tokens.upos, strict=True)]
        return tokens.with_valid(lemma=lemma, upos=upos)

    def is_reflexive(self, word: str, feats: str | None = None) -> bool:
        """True if a word refers to the subject of its verb, by its features or its ending ("herself")."""
        if not self.lists_first and feats and ("Reflex=Yes" in feats or "PronType=Rcp" in feats):
            return True
        return word.lower().endswith(self.reflexive_endings)

    def inflected(self, verb: str) -> list[str]:
        """Inflected forms of a verb, in lower case, by the first pattern of `verbs` that matches the whole verb.

        Examples
        --------
        >>> load_language("en").inflected("strike")
        ['strikes', 'struck', 'stricken', 'striking']
        """
        matches = ((re.fullmatch(pattern, verb), forms) for pattern, forms in self.verbs.items())
        return next(([match.expand(form) for form in forms] for match, forms in matches if match), [])

    def to_json(self) -> dict[str, Any]:
        """Code and folder, and all resources if the folder is not one of the package."""
        if self.resources in shipped_languages() and self.checksum == load_language(self.resources).checksum:
            return {"code": self.code, "resources": self.resources}
        resources: dict[str, Any] = msgspec.to_builtins(self)
        return resources

    @classmethod
    def from_json(cls, fields: Any) -> Language:
        """Build from the result of `to_json`.

        Raises
        ------
        InputError
            If it is something else.
        """
        try:
            language: Language = msgspec.convert(fields, cls)
        except msgspec.ValidationError as error:
            raise InputError(f"language must be resources of a language, got: {one_line(error)}") from None
        if set(fields) <= {"code", "resources"} and language.resources in shipped_languages():
            return _with_code(language.resources, language.code)
        return language


def _by_word(classes: Mapping[str, Words]) -> dict[str, str]:
    classes_of_words: dict[str, str] = {}
    for label, words in classes.items():
        for word in words:
            classes_of_words.setdefault(word, label)
    return classes_of_words


@cache
def shipped_languages() -> tuple[str, ...]:
    """Codes of the folders of the package, and "none"."""
    return tuple(sorted(each.parent.name for each in _PACKAGE.glob("*/language.yaml")))


def load_language(name: str | os.PathLike[str]) -> Language:
    """Load the resources of a language; those of the package once per process.

    Parameters
    ----------
    name
        A code such as "es": the folder of this name in the package, or else the resources of `none`. Or the path of a
        folder, whose last part is the code.

    Raises
    ------
    InputError
        If a file of the folder cannot be read.
    ParameterError
        If the name is neither a code nor a folder.

    Examples
    --------
    >>> load_language("en"), load_language("ru")
    (Language('en', resources 'en'), Language('ru', resources 'none'))
    """
    text = os.fspath(name)
    code = code_of(text)
    if len(Path(text).parts) == 1 and (code.isalpha() or code == NONE) and code:
        return _with_code(code if code in shipped_languages() else NONE, code)
    folder = Path(text)
    if not folder.joinpath("language.yaml").is_file():
        rule = "must be a code such as es, or a folder with the file language.yaml"
        raise ParameterError(f"{rule}, got {text!r}", parameter="language")
    return _read(folder, code_of(folder.resolve().name), text)


@cache
def _with_code(folder: str, code: str) -> Language:
    return _read(_PACKAGE / folder, code, folder)


def _read_yaml(path: Path) -> dict[str, Any]:
    import yaml

    return yaml.load(path.read_bytes(), getattr(yaml, "CSafeLoader", yaml.SafeLoader)) or {}


def _read(folder: Path, code: str, name: str) -> Language:
    import yaml

    settings_path = folder / "language.yaml"
    try:
        resources = _read_yaml(settings_path)
        lists = {each: _word_list(path) for each in _WORD_LISTS if (path := folder / f"{each}.txt").is_file()}
        return msgspec.convert({**resources, **lists, "code": code, "resources": name}, Language)
    except (yaml.YAMLError, TypeError, OSError, ValueError) as error:  # msgspec.ValidationError is a ValueError
        raise InputError(f"must be resources of a language, got: {one_line(error)}", place=str(settings_path)) from None


def _word_list(path: Path) -> dict[str, list[str]]:
    lines = (line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#"))
    return {label.strip(): words.split() for label, _, words in (line.partition(":") for line in lines)}


# --- which language -----------------------------------------------------------------------------------------


def code_of(text: str) -> str:
    """Code of a language as documents and pipelines write it: "es" of "es-AR" and "spa"; "none" of "xx"."""
    code = text.strip().lower().replace("_", "-").partition("-")[0]
    return NONE if code in _UNKNOWN_CODES else _OF_THREE_LETTERS.get(code, code)


def declared_language(metadata: Mapping[str, Any], path: str = "") -> str | None:
    """Code of a document's language, or None if neither its metadata nor its file name declares one.

    Parameters
    ----------
    metadata
        Metadata of the document, whose field `lang` or `language` declares the language.
    path
        Path of the document's file: in Universal Dependencies and CorefUD, names begin with language and corpus
        ("es_ancora-train.conllu"). By default only the metadata count.
    """
    for field in LANGUAGE_FIELDS:
        value = metadata.get(field)
        if isinstance(value, str) and 1 < len(value.strip()) <= _LONGEST_CODE:
            code = code_of(value)
            return None if code == NONE else code
    named = _CORPUS_FILE.match(Path(path).name)
    return named[1] if named and _OF_CORPORA.fullmatch(named[1]) else None


_CORPUS_FILE = re.compile(r"([a-z]{2,3})_[a-z0-9]+-.*\.conllu(\.gz)?$")
_OF_CORPORA = re.compile(
    "af|ar|be|bg|ca|cs|cu|cy|da|de|el|en|es|et|eu|fa|fi|fr|ga|gl|grc|got|he|hbo|hi|hr|hu|hy|id|is|it|ja|kk|ko|la|lt|lv|"
    "mr|mt|nb|nl|nn|no|pl|pt|ro|ru|sa|sk|sl|sr|sv|ta|te|th|tr|uk|ur|vi|zh"
)
_LONGEST_CODE = 8  # "es-419"; a language may also be written in words, which are not compared


def differ(code: str | None, second_code: str | None) -> bool:
    """True if two codes are of different languages; unknown languages never differ."""
    return code is not None and second_code is not None and NONE not in (code, second_code) and code != second_code


def require_same(
    owner: str, language: str | None, text: str, text_language: str | None, *, parameter: str, hint: str | ParameterHint
) -> None:
    """Raise ParameterError if something is of another language than a text; unknown languages never differ.

    Parameters
    ----------
    owner, language
        Name of the resource in the message, such as "model", and the code of its language; None if it is unknown.
    text, text_language
        Name of the text in the message, such as "the documents", and the code of its language; None if it is unknown.
    parameter, hint
        Parameter and next step that the error contains.
    """
    if differ(language, text_language):
        rule = f"must be of the language of {text} ({text_language})"
        raise ParameterError(f"{rule}, got a {owner} of {language}", parameter=parameter, hint=hint)

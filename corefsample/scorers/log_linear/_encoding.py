"""Documents as the antecedent model reads them: their mentions as numbers, hashed by templates of features.

A template is a line of atoms; a feature is a template with the values of its atoms. Atoms of the mention are written
``i.kind``, those of the candidate antecedent ``k.kind``, those of the pair ``pair.match``. There are three lists: for
candidates of pronouns, for candidates of other mentions, and for NEW, whose templates have atoms of the mention alone
and perhaps ``best.match`` or ``best.near`` (the best string match before the mention; and how far it is).

A template of candidates may begin with a whole number and a star. In ``8* i.sort k.sort pair.agree`` each feature has
the value 8 instead of 1, so the penalty of training restrains its part of a score a 64th as much. This is meant for
features that exclude an antecedent, such as a clash in number: they are few, independent of words, and hardly any of
their pairs is a true link.

Atoms of a mention
    any (1), kind (pronoun by person and type, name, noun by its determiner), class (coarser), sort (which pronoun, or a
    name or noun by number), pronoun (its form; else the kind), head, lemma, ending (three letters and shape), meaning
    (person, place, time ..., by word lists), upos; first, last, previous, before_previous, next, after_next,
    before_head, after_head (words in and around it); role, link (its own role where it is a conjunct), governor
    (lemma), governor_role, adposition; length, modifiers (up to 2), after (kinds of modifiers after the head); number,
    gender, person, agreement (all three); nesting (how deep within others), outer (role and class of the innermost of
    those), inner (mentions within); place (in its sentence), position (in the document), quoted; same_before,
    head_before (how often string and head came before), frequency (of the head in the document), rank (of a name among
    names), share (of a pronoun among pronouns); style, dialogue (of the document: sentence length, interjections, first
    and second persons), sentence (interjection first, question, short; and the sentence before); naming (what a
    description can mean, and what a name means, by the lists `descriptions` of the language and by the text around the
    name), partial (1 in training texts in which only some kinds of entities are annotated), spoken (of "I",
    "we" and "you": how often this speaker and others spoke of that person before; the number of speakers), governed
    (what governs the clause, and how the mention fits the subject there).
    A head, lemma or word that is not in the model's vocabulary is replaced by its ending.
Atoms of a pair
    sentences, mentions (distance); match (of strings, heads, modifiers and numerals; of a description with what a name
    means); overlap (nested, adjacent);
    syntax (how the heads hang together in one sentence); agree; agreeing_between, names_between, pronouns_between
    (like pronouns), others_between (of "I" the second persons and the reverse); quotes; clash (one person and several,
    whose score is reduced by `CLASH_PENALTY` whatever the weights are); described (a new description and a name
    close by that it can mean, whose score is raised by `DESCRIPTION_BONUSES`); speakers (of "I", "we" and "you":
    whether one speaker says both, turns between them, the number of speakers); meant (which speakers "I", "we", "you"
    and speakers' names can mean, and whether they are the same); governs (whether one is the subject of the verb that
    governs the clause of the other one, or of the clause before, or a part of it), raised (whether its score is raised
    by `GOVERNOR_BONUSES`).
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from importlib import resources

import numpy as np

from corefsample._arrays import Bools, Ints32, Words32
from corefsample.documents._faults import checked_mentions
from corefsample.documents._tokens import NO_SPEAKER, SPEAKER, Tokens
from corefsample.errors import ParameterError
from corefsample.languages._language import Language
from corefsample.scorers.log_linear import _atom_kernels, _feature_codes as codes, _kernels
from corefsample.scorers.log_linear._kernels import Group, Hashed
from corefsample.scorers.log_linear._mention_kernels import Text
from corefsample.scorers.log_linear._pair_kernels import Encoded
from corefsample.syntax._codes import Column, syntax_codes
from corefsample.syntax._mentions import NeutralParse
from corefsample.syntax._paths import clause_partners
from corefsample.syntax._words import extra_strings, language_hash, word_rows

VERSION = 4  # of how the loops compute atoms; raise it when they change and the numbers in `_feature_codes` do not
LISTS = ("pronoun", "phrase", "new")
_MOST_ATOMS = {"i": 4, "k": 4, "pair": 2}  # of each side of a template
_BEST = {"best.match": codes.BEST_MATCH, "best.near": codes.BEST_NEAR}
_ATOMS = {f"{side}.{name}": (side, atom) for side in "ik" for atom, name in enumerate(codes.ATOMS)} | {
    f"pair.{name}": ("pair", atom) for atom, name in enumerate(codes.PAIR_ATOMS) if name != "nothing"
}
# Atoms of the mention and of the candidate (n_templates, 4), -1 for none; atoms of the pair (2, n_templates), 0 for
# none; factors, those above 1 first, kind of the best match, and start of each hash (n_templates,).
_Compiled = tuple[Ints32, Ints32, Words32, Ints32, Ints32, Words32]


@cache
def features_hash(language: Language) -> int:
    """CRC-32 of all that decides features: names of atoms, codes, limits, hash functions and resources of the language.

    A model file names the hash it was trained with; a model of another hash cannot be read.
    """
    numbers = (VERSION, syntax_codes(), sorted(codes.feature_codes().items()))
    return zlib.crc32(repr(numbers).encode(), language_hash(language))


def is_known(vocabulary: Words32, hashes: Words32) -> Bools:
    """True for each word, by its hash, that is in a vocabulary of ascending hashes."""
    places = np.searchsorted(vocabulary, hashes)
    in_vocabulary: Bools = np.append(vocabulary, np.uint32(0))[places] == hashes  # no word has the hash 0
    return in_vocabulary


def encoded(
    tokens: Tokens, mentions: np.typing.ArrayLike, vocabulary: Words32, language: Language, *, scheme: str | None = None
) -> Encoded:
    """Encode the mentions of a document.

    Parameters
    ----------
    tokens
        Words with their parse.
    mentions
        int (n_mentions, 3): start, end (exclusive) and head, sorted by start, then longest first.
    vocabulary
        uint32, ascending: hashes of the words that features may name.
    language
        Resources of the language of the words.
    scheme
        Dependency scheme: ud2, ud1 or clearnlp. By default, it is recognised from the labels.

    Raises
    ------
    ParameterError
        If the labels fit no scheme or are ambiguous, mentions break their rules, or ``xpos``, ``feats`` or
        ``speaker`` has a value that is not a string.
    """
    spans = checked_mentions(mentions, len(tokens))
    tokens = language.adapted(tokens)
    words = word_rows(tokens, language)
    known_forms, known_lemmas = (
        np.where(is_known(vocabulary, words[:, column]), words[:, column], words[:, Column.ENDING])
        for column in (Column.FORM, Column.LEMMA)
    )
    parse = NeutralParse.of(tokens, scheme)
    numbers: dict[str, int] = dict.fromkeys(NO_SPEAKER, 0)  # of speakers, from 1; 0 where none is named
    n_unnamed = len(numbers) - 1
    names = extra_strings(tokens, SPEAKER)
    speaker = np.array([numbers.setdefault(name, len(numbers) - n_unnamed) for name in names], np.int32)
    turn = np.cumsum(np.diff(speaker, prepend=speaker[:1]) != 0, dtype=np.int32)
    # Only sentences with words count: the numbers in `tokens.sent` may have gaps.
    sent = np.unique(tokens.sent, return_inverse=True)[1].astype(np.int32)
    links = parse.head, parse.link, parse.role, parse.governor
    n = len(spans)
    partner = np.full(n, -1, np.int32)
    for i, name in clause_partners(tokens, spans).items():
        partner[i] = name
    text = Text(words, known_forms, known_lemmas, *links, parse.marker, sent, speaker, turn, spans, partner)
    atoms, facts = np.zeros((n, len(codes.ATOMS)), np.uint32), np.zeros((n, len(codes.Fact)), np.uint32)
    _atom_kernels.encode(text, int(sent[-1]) + 1 if len(sent) else 0, atoms, facts)
    _fill_meant(tokens, numbers, speaker, turn, spans, facts)
    if not language.natural_gender:  # a masculine noun may be anything
        quantity = facts[:, codes.Fact.QUANTITY]
        quantity[quantity == codes.ONE_PERSON] = 0
    indptr, blooms = np.zeros(n + 1, np.int32), np.zeros(n, np.uint32)
    room = int(np.minimum(spans[:, 1] - spans[:, 0], codes.MODIFIER_TOKENS).sum())
    modifiers, before = np.empty(room, np.uint32), np.empty(room, np.bool_)
    _atom_kernels.fill_modifiers(text, indptr, modifiers, before, blooms)
    return Encoded(atoms, facts, spans, *links, indptr, modifiers, before, blooms)


def _fill_meant(
    tokens: Tokens, numbers: dict[str, int], speaker: Ints32, turn: Ints32, spans: Ints32, facts: Words32
) -> None:
    """Fill in the speakers that mentions can mean: "I", "you" (the one before and the next one), and a speaker's name.

    Without another speaker, "you" means an audience.
    """
    heads, by_turn = spans[:, 2], np.pad(speaker[np.unique(turn, return_index=True)[1]], 1)
    before, after = by_turn[turn[heads]], by_turn[turn[heads] + 2]
    addressed = np.where(before, before, after), np.where(after, after, before)
    meant = np.where(facts[:, codes.Fact.PERSON] == 2, addressed, speaker[heads])
    meant = np.where(meant, meant, len(numbers))
    meant *= (facts[:, codes.Fact.CLASS] == codes.CLASS_SPEAKER) & (speaker[heads] > 0)
    labels = {name.casefold(): number for name, number in numbers.items()}
    for i in np.flatnonzero(facts[:, codes.Fact.CLASS] == codes.CLASS_NAME):
        word = tokens.text[heads[i]].casefold()
        for label, number in labels.items() if len(word) >= codes.SHORTEST_NAME else ():
            if label.startswith(word) or label.endswith(word):
                meant[:, i] = number
    facts[:, codes.Fact.MEANT], facts[:, codes.Fact.MEANT_ELSE] = meant


@dataclass(frozen=True, repr=False)
class TemplateSet:
    """The three lists of templates of a model.

    Attributes
    ----------
    pronoun, phrase
        Templates of candidates, where the mention is a pronoun and where it is not.
    new
        Templates of NEW.

    Raises
    ------
    ParameterError
        On construction, if a list is empty, or a template has an unknown atom, too many, or one that its list cannot
        have.

    Examples
    --------
    >>> TemplateSet(pronoun=["i.pronoun k.agreement"], phrase=["pair.match"], new=["i.kind best.match"])
    TemplateSet(1 for pronouns, 1 for phrases, 1 for NEW)
    """

    pronoun: Sequence[str]
    phrase: Sequence[str]
    new: Sequence[str]

    def __post_init__(self) -> None:
        for name in LISTS:
            object.__setattr__(self, name, tuple(getattr(self, name)))
        _ = self.groups

    def __repr__(self) -> str:
        return f"TemplateSet({len(self.pronoun)} for pronouns, {len(self.phrase)} for phrases, {len(self.new)} for NEW)"

    @cached_property
    def groups(self) -> tuple[_Compiled, _Compiled, _Compiled]:
        """The lists pronoun, phrase and new, compiled."""
        return _compiled("pronoun", self.pronoun), _compiled("phrase", self.phrase), _compiled("new", self.new)

    def hashed(self, doc: Encoded) -> Hashed:
        """Hash the mentions of an encoded document by each template."""

        def hashes(template_atoms: Ints32, seeds: Words32) -> Words32:
            values = np.empty((len(doc.atoms), len(seeds)), np.uint32)
            _kernels.hash_mentions(doc.atoms, template_atoms, seeds, values)
            return values

        *groups, (new, _, _, _, best, new_seeds) = self.groups
        pronoun, phrase = (
            Group(hashes(mention, seeds), hashes(candidate, np.zeros_like(seeds)), pair, factor)
            for mention, candidate, pair, factor, _, seeds in groups
        )
        return Hashed(pronoun, phrase, hashes(new, new_seeds), best)


def _compiled(name: str, lines: Sequence[str]) -> _Compiled:
    """Compile the list of that name."""
    if not lines:
        raise ParameterError(f"templates.{name} is empty")
    n_atoms_of = {side: 0 if name == "new" and side != "i" else most for side, most in _MOST_ATOMS.items()}
    sides = {side: np.full((len(lines), most), 0 if side == "pair" else -1) for side, most in n_atoms_of.items()}
    best, factors = np.zeros(len(lines), np.int32), np.ones(len(lines), np.int32)
    for t, line in enumerate(lines):
        first, star, atoms = line.partition("* ")
        try:
            factors[t] = int(first) if star else 1
            n_atoms = dict.fromkeys(sides, 0)
            for atom in (atoms if star else line).split():
                if name == "new" and atom in _BEST:
                    best[t] = _BEST[atom]
                else:
                    side, number = _ATOMS[atom]
                    sides[side][t, n_atoms[side]] = number
                    n_atoms[side] += 1
        except (ValueError, KeyError, IndexError):
            raise ParameterError(f"templates.{name}[{t}] must be a template of known atoms, got {line!r}") from None
    seeds = np.array([zlib.crc32(f"{name} {line}".encode()) for line in lines], np.uint32)
    by_factor = np.argsort(factors == 1, kind="stable")
    mention, candidate, pair = (array[by_factor].astype(np.int32) for array in sides.values())
    pair_atoms = np.ascontiguousarray(pair.T, np.uint32)
    return mention, candidate, pair_atoms, factors[by_factor], best[by_factor], seeds[by_factor]


def _default_templates() -> TemplateSet:
    """Read data/templates.txt: the lists that a template is in, and its atoms."""
    lists: dict[str, list[str]] = {name: [] for name in LISTS}
    source = resources.files("corefsample.scorers.log_linear").joinpath("data", "templates.txt")
    for line in source.read_text(encoding="utf-8").splitlines():
        names, _, template = line.partition(": ")
        for name in () if line.startswith("#") else names.split(","):
            lists[name].append(template)
    return TemplateSet(**lists)


DEFAULT_TEMPLATES = _default_templates()

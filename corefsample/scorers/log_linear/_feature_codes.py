"""Integer codes, places and limits that features are made of: the only table of them, for all kernels.

Codes are named tuples or plain numbers, because compiled loops can use those as constants. A model is trained on these
numbers, so `feature_codes` is part of the hash in a model file: a changed number makes older models unreadable instead
of misread. Numbers without a source were chosen for this project.
"""

from typing import Any

from corefsample.syntax._codes import numbered, word_codes

# --- mentions ----------------------------------------------------------------------------------------------

Atom = numbered(
    "ANY KIND CLASS SORT PRONOUN HEAD LEMMA ENDING MEANING UPOS FIRST LAST PREVIOUS BEFORE_PREVIOUS NEXT AFTER_NEXT "
    "BEFORE_HEAD AFTER_HEAD ROLE LINK GOVERNOR GOVERNOR_ROLE ADPOSITION LENGTH MODIFIERS AFTER NUMBER GENDER PERSON "
    "AGREEMENT NESTING OUTER INNER PLACE POSITION QUOTED SAME_BEFORE HEAD_BEFORE FREQUENCY RANK SHARE STYLE DIALOGUE "
    "SENTENCE NAMING PARTIAL SPOKEN GOVERNED"
)
ATOMS = tuple(name.lower() for name in Atom._fields)
Fact = numbered(
    "CORE FULL LEMMA FORM STEM SENT NUMBER GENDER PERSON CLASS NUMERALS INITIALS ACRONYM FIRST_PERSONS SECOND_PERSONS "
    "AGREEMENT QUANTITY NAMING SPEAKER TURN SPEAKERS ABOVE VERB_ABOVE CONTINUED JOINED MEANT MEANT_ELSE"
)
NOTHING = 1  # hash of a word that is missing

# Kinds of mentions. Those up to EXISTENTIAL_PRONOUN are pronouns.
(
    FIRST, SECOND, THIRD, POSSESSIVE_PRONOUN, REFLEXIVE_PRONOUN, DEMONSTRATIVE_PRONOUN, RELATIVE_PRONOUN, OTHER_PRONOUN,
    EXISTENTIAL_PRONOUN, NAME, NAME_WITH_DETERMINER, DEFINITE, INDEFINITE, DEMONSTRATIVE_NOUN, PRONOUN_POSSESSED,
    NOUN_POSSESSED, NUMBER, QUANTIFIED, BARE_SINGULAR, BARE_PLURAL, VERBAL, ADJECTIVAL, ADVERBIAL, COORDINATION,
) = range(1, 25)  # fmt: skip
# Classes of kinds. Those up to CLASS_OTHER_PRONOUN are pronouns.
(
    CLASS_SPEAKER, CLASS_THIRD, CLASS_DEMONSTRATIVE, CLASS_OTHER_PRONOUN, CLASS_NAME, CLASS_DEFINITE, CLASS_POSSESSED,
    CLASS_INDEFINITE, CLASS_BARE, CLASS_CLAUSE, CLASS_COORDINATION,
) = range(1, 12)  # fmt: skip
CLASS_OF_KIND = (
    0, CLASS_SPEAKER, CLASS_SPEAKER, CLASS_THIRD, CLASS_THIRD, CLASS_THIRD, CLASS_DEMONSTRATIVE, CLASS_OTHER_PRONOUN,
    CLASS_OTHER_PRONOUN, CLASS_OTHER_PRONOUN, CLASS_NAME, CLASS_NAME, CLASS_DEFINITE, CLASS_INDEFINITE, CLASS_DEFINITE,
    CLASS_POSSESSED, CLASS_POSSESSED, CLASS_BARE, CLASS_INDEFINITE, CLASS_BARE, CLASS_BARE, CLASS_CLAUSE, CLASS_CLAUSE,
    CLASS_CLAUSE, CLASS_COORDINATION,
)  # fmt: skip

# Sorts of mentions: pronouns by person and number, names and nouns by number.
(
    SORT_I, SORT_WE, SORT_YOU, SORT_HE_OR_SHE, SORT_IT, SORT_THEY, SORT_OTHER_PRONOUN, SORT_NAME, SORT_NAMES,
    SORT_SINGULAR, SORT_PLURAL, SORT_CLAUSE,
) = range(1, 13)  # fmt: skip

ONE_PERSON, SEVERAL = 1, 2  # what a mention must be: he, she, a man, Mary; or plural nouns, conjoined names
LAST_SINGLE, BUCKET_ENDS = 4, (6, 9, 14, 22, 40, 70, 120)  # counts up to 4 have a bucket each
LENGTH_ENDS = (5, 9)
DEEPEST = 64  # mentions nested in one another that are distinguished
MOST_NESTED, MOST_BEFORE, MOST_PLACES, MOST_MODIFIERS = 3, 5, 3, 2
MODIFIER_TOKENS = 12  # first tokens of a mention, whose content words are compared
INITIALS_AFTER_HEAD = 4
FEWEST_INITIALS = 2
SHORTEST_NAME = 3  # letters of a name that a speaker can begin or end with
QUOTATION_SENTENCES = 6
APPOSITION_WORDS = 8
SHORT_SENTENCE = 4
# Flags of what hangs on a head behind it, and of sentences.
MEMBER, COORDINATED = 1, 2  # a phrase whose head others are joined to; a phrase with all of them
AFTER_RELATIVE, AFTER_CLAUSE, AFTER_NOUN, AFTER_APPOSITION, AFTER_CONJUNCT, AFTER_DETERMINED = 1, 2, 4, 8, 16, 32
SENTENCE_INTERJECTION, SENTENCE_QUESTION, SENTENCE_SHORT, NO_SENTENCE = 1, 2, 4, 8
THIRD_PERSON = 3
GROUP_HE, GROUP_SHE, GROUP_OTHER_SINGULAR, GROUP_OTHER = 1, 2, 3, 4  # of third persons
RANK_FIRST, RANK_SECOND, RANK_OTHER = 1, 2, 3
PRONOUN_SHARES, RIVAL_SHARE = (0.01, 0.03, 0.08), 0.3
# What governs the clause of a mention: a verb of saying or another one, with a conjunction or without; a noun; a verb
# beside it; or nothing, after a clause with a subject. How the mention fits the subject there is multiplied and added.
CLAUSE_OF_VERB, WITH_CONJUNCTION, OF_SAYING, CLAUSE_OF_NOUN, CLAUSE_BESIDE, CLAUSE_BEFORE = 1, 1, 2, 5, 6, 7
FITS_SPEAKER, FITS_NOT, FITS_PRONOUN, FITS, FITS_FACTOR = 1, 2, 3, 4, 8
# Several small codes in one atom: each is multiplied by its factor and added.
AGREEMENT_FACTORS = (3, 20)  # gender, person
OUTER_FACTOR, PLACE_FACTOR, SENTENCE_FACTOR = 32, 4, 8
SHARE_FACTORS = (4, 16)  # rivals, group
STYLE_FACTORS = (4, 16)
NAME_MEANING = 40  # added to the meaning of a name that an earlier word of it has

# Style of a text (kernel `text_style`): limits chosen for this project, from no publication. Of the documents of GUM
# V11's train part 8, 24 and 46% have fewer words per sentence than the three limits; 73, 84 and 90% have fewer
# interjections per word; 29, 50 and 69% have fewer pronouns of the first and second person per word; and in 36, 53 and
# 73% the second person has a smaller share of these.
SENTENCE_LENGTHS = (11, 15, 19)
INTERJECTION_SHARES = (0.005, 0.02, 0.04)
SPEAKER_SHARES = (0.005, 0.02, 0.04)
SECOND_PERSON_SHARES = (0.15, 0.35, 0.7)
MANY_SPEAKERS = 2  # steps of SPEAKER_SHARES

# --- pairs -------------------------------------------------------------------------------------------------

PairAtom = numbered(
    "NOTHING SENTENCES MENTIONS MATCH OVERLAP SYNTAX AGREE AGREEING_BETWEEN NAMES_BETWEEN PRONOUNS_BETWEEN QUOTES "
    "OTHERS_BETWEEN CLASH DESCRIBED SPEAKERS GOVERNS RAISED MEANT"
)
PAIR_ATOMS = tuple(name.lower() for name in PairAtom._fields)
# How two phrases match; each is divided by their numerals (none, the same, others).
(
    M_NONE, M_FULL, M_CORE_BARE, M_CORE_NESTED, M_CORE, M_HEAD_BARE, M_HEAD_SAME, M_HEAD_LESS, M_HEAD_MORE,
    M_HEAD_SOME, M_HEAD_OTHER, M_BOTH_WITHIN, M_WITHIN_BARE, M_WITHIN, M_HOLDS_BARE, M_HOLDS, M_ONE_WORD, M_WORDS,
    M_ACRONYM, M_STEM, M_DESCRIBES, M_MAY_DESCRIBE, M_DESCRIBES_UNKNOWN, M_DESCRIBES_OTHER,
) = range(24)  # fmt: skip
MATCH_FACTOR, SAME_NUMERALS, OTHER_NUMERALS = 3, 1, 2
M_SAME_PRONOUN, M_LIKE_PRONOUN, M_OTHER_PRONOUN, M_PRONOUN_AND_PHRASE = 90, 91, 92, 93
# How good a match is, for the best one that a mention has among those before it; lower with other numerals.
MATCH_LEVELS = (0, 18, 16, 14, 12, 18, 16, 10, 12, 8, 6, 4, 4, 2, 4, 2, 2, 2, 14, 6, 9, 7, 5, 0)
OTHER_NUMERALS_LEVEL = 4
O_APART, O_WITHIN, O_AROUND, O_SAME_SPAN, O_CROSSING, O_ADJACENT, O_ONE_BETWEEN = range(7)
# How the heads hang together: where each code begins, to which a role is added.
S_GOVERNED, S_GOVERNS, S_HANGS_ON, S_GOVERNOR_HANGS_ON, S_BELOW_SIBLING, S_GOVERNS_GOVERNOR, S_ABOVE_SIBLING = (
    1, 32, 64, 96, 128, 160, 192,
)  # fmt: skip
S_APART, S_SIBLINGS, S_FACTOR = 224, 1024, 32
# Agreement in one of number, gender, person; two persons of whom one has either gender are alike.
AGREES, DIFFERS, ALIKE, GENDER_DIFFERS = 1, 2, 2, 3
AGREE_FACTORS = (3, 12)  # gender, person
QUOTED_TOGETHER, QUOTED_APART = 3, 4
# A candidate is the subject above the mention's clause, a part of it (possessor, modifier), one of its members, or
# another noun there; the same for the subject of the clause before; or the mention is that of the candidate.
G_SUBJECT, G_PART, G_MEMBER, G_OTHER, G_CONTINUED, G_BELOW = 1, 2, 3, 4, 4, 8
MOST_NAMES, MOST_OTHERS = 8, 7
# Who speaks: turns between two mentions, whether one speaker says both, and the number of speakers of the document.
MOST_TURNS, SAME_SPEAKER, MOST_SPEAKERS, SPEAKERS_FACTOR = 3, 4, 3, 8
# How often the speaker spoke of this person before, whether others said "you" of "I" (or the reverse), and the
# number of speakers.
MOST_SPOKEN, SPOKEN_FACTORS = 2, (3, 6)
# Subtracted from the score of one person and several. Training has too few of these pairs to learn how rare links of
# them are: a pronoun "he" whose only candidate is a plural noun would take it.
CLASH_PENALTY = 5.0
# Added to the score of a new description and a name close by that it can mean: a name of its class, perhaps of its
# class, or of which nothing is known. More is added for a name that is a subject, and for a group and its members,
# whose numbers differ. Nothing is added in training, whose texts have few such descriptions.
DESCRIPTION_BONUSES = (0.0, 6.5, 4.5, 4.0)
# Added to the score of "it" or "they" in the subject of a clause that a verb of saying governs, and the verb's subject
# or its possessor, of which training has too few; of a pronoun that is subject, and the subject before it, if that is
# a name of a group or several names; and of a name and the pronoun of its reported clause, which begins the text.
RAISED_SAYING, RAISED_CONTINUED, RAISED_BELOW = 1, 2, 3
GOVERNOR_BONUSES = (0.0, 4.0, 1.9, 6.0)
UNKNOWN_NAME = 3  # index of names of which nothing is known, and of persons of whom nothing else is
SUBJECT_BONUS, MEMBERS_BONUS, MODIFIED_PENALTY = 1.5, 2.0, 1.0
DESCRIBED_WITHIN = 3  # code of the distance in sentences: up to two apart
BEST_MATCH, BEST_NEAR, BEST_FACTOR = 1, 2, 64

# --- hash functions ----------------------------------------------------------------------------------------

# `mix`: primes and avalanche of XXH32 (Yann Collet 2012, https://github.com/Cyan4973/xxHash), on words of 64 bits.
XXH32_PRIMES = (0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D)
XXH32_SHIFTS = (15, 13, 16)
# `fill_buckets`: the atoms of a pair are multiplied by the constants of MurmurHash3's fmix32 (Austin Appleby 2011,
# https://github.com/aappleby/smhasher), and the sum goes through lowbias32 (Chris Wellons 2018, "Prospecting for hash
# functions", https://nullprogram.com/blog/2018/07/31/).
MURMUR3_FACTORS = (0x85EBCA6B, 0xC2B2AE35)
LOWBIAS32_FACTORS = (0x7FEB352D, 0x846CA68B)
LOWBIAS32_SHIFTS = (16, 15, 16)
PHRASE_START = 7  # where the hash of a phrase begins
BLOOM_BITS = 32


def feature_codes() -> dict[str, Any]:
    """Every code, place and limit of this module and of words by name, for hashes."""
    numbers = {name: value for name, value in globals().items() if isinstance(value, (int, float, tuple))}
    return numbers | word_codes()

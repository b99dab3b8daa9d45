"""Sentences in two notations, form by form: UD version 2 | ClearNLP; version 1 of UD follows from version 2."""

from __future__ import annotations

SENTENCES = {
    "two names": """
Mary Mary PROPN 2 nsubj | 2 nsubj
met meet VERB 0 root | 0 ROOT
Peter Peter PROPN 2 obj | 2 dobj
. . PUNCT 2 punct | 2 punct
""",
    "pronouns": """
She she PRON 2 nsubj | 2 nsubj
gave give VERB 0 root | 0 ROOT
him he PRON 2 iobj | 2 dative
her her PRON 5 nmod:poss | 5 poss
book book NOUN 2 obj | 2 dobj
. . PUNCT 2 punct | 2 punct
""",
    "a possessor with its particle": """
John John PROPN 4 nmod:poss | 4 poss
's 's PART 1 case | 1 case
old old ADJ 4 amod | 4 amod
dog dog NOUN 5 nsubj | 5 nsubj
barked bark VERB 0 root | 0 ROOT
at at ADP 7 case | 5 prep
us we PRON 5 obl | 6 pobj
. . PUNCT 5 punct | 5 punct
""",
    "names in compounds": """
U.S. U.S. PROPN 2 compound | 2 nmod
troops troop NOUN 3 nsubj | 3 nsubj
left leave VERB 0 root | 0 ROOT
New New PROPN 5 compound | 5 compound
York York PROPN 3 obj | 3 dobj
""",
    "a quantifier before an article, a relative clause, an open complement": """
All all DET 3 det:predet | 3 predet
the the DET 3 det | 3 det
people people NOUN 6 nsubj | 6 nsubj
who who PRON 5 nsubj | 5 nsubj
came come VERB 3 acl:relcl | 3 relcl
became become VERB 0 root | 0 ROOT
teachers teacher NOUN 6 xcomp | 6 attr
""",
    "conjoined prepositions and a noun that is an adverb": """
They they PRON 2 nsubj | 2 nsubj
walked walk VERB 0 root | 0 ROOT
in in ADP 7 case | 2 prep
and and CCONJ 5 cc | 3 cc
around around ADP 3 conj | 3 conj
the the DET 7 det | 7 det
city city NOUN 2 obl | 5 pobj
yesterday yesterday NOUN 2 obl:tmod | 2 npadvmod
""",
    "a recipient with a preposition": """
She she PRON 2 nsubj | 2 nsubj
gave give VERB 0 root | 0 ROOT
the the DET 4 det | 4 det
book book NOUN 2 obj | 2 dobj
to to ADP 6 case | 2 dative
Mary Mary PROPN 2 obl | 5 pobj
""",
    "a preposition within another": """
He he PRON 2 nsubj | 2 nsubj
ran run VERB 0 root | 0 ROOT
out out ADP 5 case | 2 prep
of of ADP 3 fixed | 3 prep
money money NOUN 2 obl | 4 pobj
""",
    "a preposition as the complement of another": """
He he PRON 2 nsubj | 2 nsubj
came come VERB 0 root | 0 ROOT
from from ADP 6 case | 2 prep
behind behind ADP 6 case | 3 pcomp
the the DET 6 det | 6 det
door door NOUN 2 obl | 4 pobj
""",
    "a passive with its agent": """
The the DET 2 det | 2 det
house house NOUN 4 nsubj:pass | 4 nsubjpass
was be AUX 4 aux:pass | 4 auxpass
bought buy VERB 0 root | 0 ROOT
by by ADP 7 case | 4 agent
the the DET 7 det | 7 det
bank bank NOUN 4 obl:agent | 5 pobj
of of ADP 9 case | 7 prep
Greece Greece PROPN 7 nmod | 8 pobj
""",
    "conjuncts": """
Both both CCONJ 2 cc:preconj | 2 preconj
cats cat NOUN 5 nsubj | 5 nsubj
and and CCONJ 4 cc | 2 cc
dogs dog NOUN 2 conj | 2 conj
like like VERB 0 root | 0 ROOT
milk milk NOUN 5 obj | 5 dobj
, , PUNCT 8 punct | 6 punct
cheese cheese NOUN 6 conj | 6 conj
and and CCONJ 10 cc | 8 cc
fish fish NOUN 6 conj | 8 conj
""",
    "an apposition and a predicate": """
Peter Peter PROPN 7 nsubj | 6 nsubj
, , PUNCT 4 punct | 1 punct
the the DET 4 det | 4 det
king king NOUN 1 appos | 1 appos
, , PUNCT 4 punct | 1 punct
is be AUX 7 cop | 0 ROOT
asleep asleep ADJ 0 root | 6 acomp
""",
    "a verb's particle, numbers and a participle": """
Two two NUM 2 nummod | 2 nummod
men man NOUN 5 nsubj | 5 nsubj
living live VERB 2 acl | 2 acl
here here ADV 3 advmod | 3 advmod
gave give VERB 0 root | 0 ROOT
up up ADP 5 compound:prt | 5 prt
it it PRON 5 obj | 5 dobj
""",
    "a clause that is said to be so": """
There there PRON 2 expl | 2 expl
are be VERB 0 root | 0 ROOT
men man NOUN 2 nsubj | 2 attr
who who PRON 7 nsubj | 5 nsubj
are be AUX 7 cop | 3 relcl
not not PART 7 advmod | 5 neg
kings king NOUN 3 acl:relcl | 5 attr
""",
}
_VERSION_1 = {
    "obj": "dobj",
    "nsubj:pass": "nsubjpass",
    "aux:pass": "auxpass",
    "obl": "nmod",
    "obl:agent": "nmod:agent",
    "obl:tmod": "nmod:tmod",
    "flat": "name",
    "fixed": "mwe",
}


def notations(sentence: str) -> dict[str, str]:
    """One sentence in the three schemes, a line a word: form, lemma, part of speech, head, label."""
    rows = [[half.split() for half in line.split("|")] for line in sentence.strip().splitlines()]
    return {
        "ud2": "\n".join(" ".join(universal) for universal, _ in rows),
        "ud1": "\n".join(
            " ".join([*universal[:4], _VERSION_1.get(universal[4], universal[4])]) for universal, _ in rows
        ),
        "clearnlp": "\n".join(" ".join([*universal[:3], *other]) for universal, other in rows),
    }

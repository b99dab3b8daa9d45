"""Penn Treebank annotation in CoNLL-2012 files: heads of spans from parse bits, universal tags from Penn tags."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_BIT = re.compile(r"\(([^()*\s]*)|(\*)|(\))")
_NOMINAL = frozenset({"NP", "NX", "NML", "NAC", "WHNP", "QP"})
_NOUN_TAGS = frozenset({"NN", "NNS", "NNP", "NNPS", "PRP", "WP", "EX"})
_LATER = (
    (False, frozenset({"NP", "NX", "NML", "WHNP"})),
    (True, frozenset({"PRP$", "WP$", "$", "ADJP", "PRN"})),
    (True, frozenset({"CD"})),
    (True, frozenset({"JJ", "JJR", "JJS", "RB", "QP", "DT", "WDT"})),
)  # whether to search from the right, and for which children, if there is no noun

_UNIVERSAL = {
    tag: upos
    for upos, tags in {
        "ADJ": "JJ JJR JJS AFX",
        "ADP": "IN",
        "ADV": "RB RBR RBS WRB",
        "AUX": "MD",
        "CCONJ": "CC",
        "DET": "DT PDT WDT",
        "INTJ": "UH",
        "NOUN": "NN NNS",
        "NUM": "CD",
        "PART": "POS RP TO",
        "PRON": "EX PRP PRP$ WP WP$",
        "PROPN": "NNP NNPS",
        "PUNCT": ". , : `` '' -LRB- -RRB- HYPH NFP",
        "SYM": "# $ SYM",
        "VERB": "VB VBD VBG VBN VBP VBZ",
        "X": "ADD FW LS XX",
    }.items()
    for tag in tags.split()
}


def universal_tag(tag: str) -> str:
    """Universal part of speech of an English Penn tag, "X" for an unknown tag, "_" if the tag is missing.

    Verbs are VERB, auxiliaries included, except modals; IN is ADP, also as a conjunction.
    """
    return "_" if tag == "-" else _UNIVERSAL.get(tag, "X")


@dataclass
class Constituent:
    """A node of a phrase structure: a word, which has no children, or a phrase."""

    label: str
    start: int
    end: int = 0
    children: list[Constituent] = field(default_factory=list)


def sentence_tree(bits: Sequence[str], tags: Sequence[str]) -> Constituent | None:
    """Build the tree of a sentence from the parse bit and the tag of each word; None if the bits have none.

    Raises
    ------
    ValueError
        With the index of the word, if the bits are no tree.
    """
    if not any("(" in bit for bit in bits):
        return None
    root = Constituent("", 0)
    stack = [root]
    for word, (bit, tag) in enumerate(zip(bits, tags, strict=True)):
        matches = list(_BIT.finditer(bit))
        if "".join(match[0] for match in matches) != bit or bit.count("*") != 1:
            raise ValueError(word)
        for match in matches:
            if match[0].startswith("("):
                stack.append(Constituent(match[1], word))
                stack[-2].children.append(stack[-1])
            elif match[2]:
                stack[-1].children.append(Constituent(tag, word, word + 1))
            elif len(stack) == 1:
                raise ValueError(word)
            else:
                stack.pop().end = word + 1
    if len(stack) > 1:
        raise ValueError(stack[-1].start)
    root.end = len(bits)
    return root


def head_of(tree: Constituent | None, start: int, end: int) -> int:
    """Head word of a span: the last noun of its noun phrase before the postmodifiers.

    Take the lowest phrase that covers the span. In a noun phrase the head is the last noun or pronoun among its words,
    for coordinated nouns that of the first part; without one, the head of its first noun phrase; then the last
    possessive pronoun, number or adjective. The head of any other phrase, and of a span without a tree, is the last
    word.
    """
    if tree is None:
        return end - 1
    node = tree
    while inner := next((c for c in node.children if c.start <= start and end <= c.end), None):
        node = inner
    children = [c for c in node.children if start <= c.start and c.end <= end]
    while node.label.partition("-")[0] in _NOMINAL and children:
        node = _head_child(children)
        children = node.children
        if not children:
            return node.start
    return min(node.end, end) - 1


def _head_child(children: Sequence[Constituent]) -> Constituent:
    joined = next((i for i, child in enumerate(children) if child.label in ("CC", "CONJP") and i), len(children))
    children = children[:joined]
    for child in reversed(children):
        if child.label in _NOUN_TAGS:
            return child
    for from_right, labels in _LATER:
        for child in reversed(children) if from_right else children:
            if child.label.partition("-")[0] in labels:
                return child
    return children[-1]

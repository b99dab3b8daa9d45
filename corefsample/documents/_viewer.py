"""HTML of a document's text for a notebook: entities are coloured, and on hover a mention shows a hint."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from html import escape

from corefsample._arrays import Ints32
from corefsample.coreference._antecedents import AntecedentDistribution
from corefsample.documents._tokens import Tokens

_MOST_WORDS = 400
_GOLDEN_ANGLE = 137.508  # degrees: successive hues are far apart for any number of them
_CHOICES = 3  # number of antecedents that are shown on hover
_WORDS_OF_CHOICE = 6


def marked_text(tokens: Tokens, mentions: Ints32, labels: Sequence[int], hints: Sequence[str]) -> str:
    """HTML of the first words of a document.

    Parameters
    ----------
    tokens
        Words of the document.
    mentions
        int32 (n_mentions, 3), sorted as in documents. A mention that crosses an earlier mention is not marked.
    labels
        Entity of each mention; entities of several mentions have a colour and a number, others a dotted line.
    hints
        Text that is shown for each mention on hover.
    """
    sizes = Counter(labels)
    shared_labels = (label for label in dict.fromkeys(labels) if sizes[label] > 1)
    numbers = {label: number for number, label in enumerate(shared_labels, start=1)}
    return "".join(_pieces(tokens, mentions, [numbers.get(label, 0) for label in labels], hints))


def _pieces(tokens: Tokens, mentions: Ints32, entities: Sequence[int], hints: Sequence[str]) -> Iterator[str]:
    """Pieces of the page; entities of several mentions are numbered from 1."""
    n_words = min(len(tokens), _MOST_WORDS)
    after = tokens.extra.get("space_after")
    opening: dict[int, list[tuple[int, int]]] = {}
    for i, (start, end, _) in enumerate(mentions.tolist()):
        opening.setdefault(start, []).append((i, min(end, n_words)))
    marks: list[tuple[int, int]] = []  # end and entity of each open mark
    for t in range(n_words):
        if t and tokens.sent[t] != tokens.sent[t - 1]:
            yield "<br>" if not marks else " "
        for i, end in opening.get(t, []):
            if not marks or end <= marks[-1][0]:
                marks.append((end, entities[i]))
                yield f'<mark style="{_look(entities[i])}" title="{escape(hints[i])}">'
        yield escape(str(tokens.text[t]))
        while marks and marks[-1][0] == t + 1:
            entity = marks.pop()[1]
            yield f'<sub style="font-size: 65%">{entity}</sub></mark>' if entity else "</mark>"
        if after is None or after[t]:
            yield " "
    if n_words < len(tokens):
        yield "..."


def _look(entity: int) -> str:
    if not entity:
        return "background: none; color: inherit; border-bottom: 1px dotted"
    hue = entity * _GOLDEN_ANGLE % 360.0
    return f"background: hsl({hue:.0f} 75% 82%); color: #000; border-radius: 3px; padding: 0 2px"


def antecedent_hints(tokens: Tokens, mentions: Ints32, antecedents: AntecedentDistribution) -> list[str]:
    """Likeliest antecedents of each mention as text: "0: NEW 0.70, the border 0.20"."""
    bounds, hints = mentions[:, :2].tolist(), []
    for i, new in enumerate(antecedents.new_probs.tolist()):
        candidates, probs = antecedents.row(i)
        choices = [("NEW", new)]
        for c in (-probs).argsort(kind="stable")[:_CHOICES].tolist():
            start, end = bounds[int(candidates[c])]
            choices.append((" ".join(map(str, tokens.text[start:end][:_WORDS_OF_CHOICE])), float(probs[c])))
        choices.sort(key=lambda choice: -choice[1])
        hints.append(f"{i}: " + ", ".join(f"{text} {p:.2f}" for text, p in choices[:_CHOICES] if p >= 0.005))
    return hints

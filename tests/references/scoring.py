"""Small annotated corpora and a rule-based pipeline for training and scoring, and a simple way to score text."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from corefsample import ScoredDocument, Tokens, write_conll2012, write_corefud
from corefsample.documents._annotated import AnnotatedDocument
from corefsample.scorers._scoring import score_mentions
from corefsample.scorers.log_linear._model import AntecedentModel
from corefsample.scorers.log_linear._training import train
from corefsample.scorers.protocol import MIN_PROB
from corefsample.syntax._mentions import mentions_from_parse
from events import simulate_documents

GENRES = ("news", "court", "bio")


def short_documents(n_documents: int, *, seed: int = 0, n_sentences: int = 5) -> list[AnnotatedDocument]:
    """The first sentences of simulated stories, with true entities, a date and a genre."""
    stories = (each.document for each in simulate_documents(n_documents, seed=seed))
    return [beginning(story, n_sentences, GENRES[n % len(GENRES)]) for n, story in enumerate(stories)]


def beginning(story: ScoredDocument, n_sentences: int, genre: str) -> AnnotatedDocument:
    whole = AnnotatedDocument.from_scored(story)
    tokens = whole.tokens
    n_tokens = int((tokens.sent < n_sentences).sum())
    inside = [i for i in range(whole.n_mentions) if whole.mentions[i, 1] <= n_tokens]
    columns = {name: list(getattr(tokens, name)[:n_tokens]) for name in ("text", "lemma", "upos", "dep")}
    return AnnotatedDocument(
        doc_id=whole.doc_id,
        tokens=Tokens(**columns, head=tokens.head[:n_tokens], sent=tokens.sent[:n_tokens]),
        mentions=whole.mentions[inside],
        entities=[whole.entities[i] for i in inside],
        date=whole.date,
        metadata={"genre": genre},
    )


def corpus_file(path: Path, documents: Iterable[AnnotatedDocument]) -> Path:
    """Write a corpus in the format of its name."""
    if path.name.removesuffix(".gz").endswith("conllu"):
        write_corefud(documents, path)
    else:
        write_conll2012(documents, path)
    return path


def small_model(folder: Path, *, epochs: int = 1) -> Path:
    """A model trained on six short documents, in 256 weights."""
    path = folder / "model.npz"
    train(short_documents(6, seed=5), epochs=epochs, bits=8, min_count=2).save(path)
    return path


# --- text --------------------------------------------------------------------------------------------------

PARSER = '''
"""A pipeline of a few rules: the first verb of a sentence is its root, nouns before it are subjects."""

import spacy
from spacy.language import Language
from spacy.tokens import Doc

LEMMAS = {"attacked": "attack", "left": "leave", "said": "say"}
UPOS = {"the": "DET", "a": "DET", "attacked": "VERB", "left": "VERB", "said": "VERB", "they": "PRON", "she": "PRON"}
UPOS |= {".": "PUNCT", ",": "PUNCT", "rebels": "NOUN", "army": "NOUN", "town": "NOUN", "quietly": "ADV"}


@Language.component("tiny_parser")
def tiny_parser(doc):
    if any(token.text == "REFUSED" for token in doc):
        raise ValueError("no such\\nword")
    upos = [UPOS.get(token.lower_, "PROPN") for token in doc]
    heads, labels = [], []
    start = 0
    for i, token in enumerate(doc):
        if token.text == "." or i == len(doc) - 1:
            root = next((k for k in range(start, i + 1) if upos[k] == "VERB"), start)
            for k in range(start, i + 1):
                before_noun = upos[k] == "DET" and k != root and k < i and k + 1 != root
                heads.append(k + 1 if before_noun else root)
                label = {"PUNCT": "punct", "ADV": "advmod"}.get(upos[k], "nsubj" if k < root else "obj")
                labels.append("root" if k == root else "det" if before_noun else label)
            start = i + 1
    return Doc(
        doc.vocab,
        words=[token.text for token in doc],
        spaces=[bool(token.whitespace_) for token in doc],
        pos=upos,
        lemmas=[LEMMAS.get(token.lower_, token.lower_) for token in doc],
        heads=heads,
        deps=labels,
    )


def load(**options):
    pipeline = spacy.blank("en")
    pipeline.add_pipe("tiny_parser")
    return pipeline
'''


def tiny_pipeline(folder: Path, name: str = "tiny_rules") -> str:
    """Install a package with that pipeline in a folder of the import path, and return its name."""
    (folder / name).mkdir()
    (folder / name / "__init__.py").write_text(PARSER, encoding="utf-8")
    about = folder / f"{name}-0.0.0.dist-info"
    about.mkdir()
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 0.0.0\n", encoding="utf-8")
    return name


def tokens_by_paragraph(paragraphs: Sequence[str], pipeline: Any) -> Tokens:
    """Parse each paragraph separately and join their tokens one at a time."""
    rows: list[tuple[Any, ...]] = []
    n_sentences = 0
    for paragraph in paragraphs:
        first = len(rows)
        doc = pipeline(paragraph)
        for sentence in doc.sents:
            for word in sentence:
                head = -1 if word.head.i == word.i else first + word.head.i
                rows.append((word.text, word.lemma_, word.pos_, word.dep_, head, n_sentences, bool(word.whitespace_)))
            n_sentences += 1
        rows[-1] = (*rows[-1][:-1], True)
    text, lemma, upos, dep, head, sent, space = (list(column) for column in zip(*rows, strict=True))
    extra = {"xpos": ["_"] * len(rows), "feats": ["_"] * len(rows), "space_after": space}
    return Tokens(text, lemma, upos, dep, np.array(head), np.array(sent), extra)


def scored_text(model: AntecedentModel, tokens: Tokens) -> tuple[list[list[int]], list[float]]:
    """Mentions of parsed text and the scores of all their candidates."""
    mentions = mentions_from_parse(tokens)
    (pruned,) = score_mentions(model, [tokens], [mentions], MIN_PROB, None)
    return mentions.tolist(), pruned.distribution.scores.tolist()

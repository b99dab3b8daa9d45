"""Readers of the corpora beside the project, ../shared/data, and their splits by document; nothing is copied."""

from __future__ import annotations

import gzip
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from corefsample.tagging import TaggedSentence

DATA = Path(__file__).parents[2] / ".." / "shared" / "data"
WSJ = DATA / "wsj-sample" / "treebank.zip"
MASC = DATA / "masc" / "masc_tagged.zip"
TWEETS = DATA / "ark-tweets"
GUM = DATA / "gum"
_TREE = re.compile(r"\(([^\s()]+) ([^\s()]+)\)|(\()|(\))")


class MissingCorpusError(Exception):
    """A corpus is not beside the project; as text it says which."""


@dataclass(frozen=True)
class Split:
    """Sentences for training, for the choice of settings, and for the figures."""

    train: list[TaggedSentence]
    dev: list[TaggedSentence]
    test: list[TaggedSentence]

    def described(self) -> str:
        """Sentences and documents of each part."""
        parts = []
        for name in ("train", "dev", "test"):
            sentences = getattr(self, name)
            n_words = sum(len(sentence.words) for sentence in sentences)
            n_documents = len({sentence.doc_id for sentence in sentences})
            parts.append(f"{name} {len(sentences):,} sentences, {n_words:,} words, {n_documents} documents")
        return "; ".join(parts)


def require(*paths: Path) -> None:
    """Raise if a corpus is missing."""
    for path in paths:
        if not path.exists():
            place = "/".join(path.resolve().parts[-4:])
            raise MissingCorpusError(f"{place} is not available: this study needs it beside the project")


def split_by_document(sentences: Sequence[TaggedSentence]) -> Split:
    """Every fifth document for the figures, every fifth for settings, the others for training."""
    documents = sorted({sentence.doc_id for sentence in sentences})
    part = {doc_id: ("test", "dev", "train", "train", "train")[number % 5] for number, doc_id in enumerate(documents)}
    names = ("train", "dev", "test")
    return Split(*([each for each in sentences if part[each.doc_id] == name] for name in names))


def wsj_sentences() -> list[TaggedSentence]:
    """NLTK's sample of the Wall Street Journal treebank, without empty elements; a file is a document."""
    require(WSJ)
    sentences = []
    with zipfile.ZipFile(WSJ) as archive:
        for name in sorted(archive.namelist()):
            if name.startswith("treebank/combined/wsj_"):
                doc_id = name.rpartition("/")[2].removesuffix(".mrg")
                sentences += [TaggedSentence(*each, doc_id) for each in _trees(archive.read(name).decode())]
    return sentences


def _trees(text: str) -> Iterator[tuple[list[str], list[str]]]:
    words: list[str] = []
    tags: list[str] = []
    depth = 0
    for tag, word, opening, _ in _TREE.findall(text):
        if tag:
            if tag != "-NONE-":
                words.append(word)
                tags.append(tag)
            continue
        depth += 1 if opening else -1
        if depth == 0 and words:
            yield words, tags
            words, tags = [], []


# MASC writes brackets and dashes otherwise than the treebank.
_MASC_TAGS = {"(": "-LRB-", ")": "-RRB-", "-": ":", "...": ":", '"': "''"}
_MASC_WORDS = {"(": "-LRB-", ")": "-RRB-"}


def masc_sentences(*categories: str) -> list[TaggedSentence]:
    """Sentences of MASC of some categories, all by default; a file is a document, named "category/file"."""
    require(MASC)
    sentences = []
    with zipfile.ZipFile(MASC) as archive:
        for line in archive.read("masc_tagged/categories.txt").decode().split("\n"):
            path, _, category = line.strip().partition(" ")
            if not path or (categories and category not in categories):
                continue
            doc_id = f"{category}/{path.rpartition('/')[2].removesuffix('.txt')}"
            for row in archive.read(f"masc_tagged/{path}").decode("utf-8", "replace").split("\n"):
                pairs = [token.rpartition("_")[::2] for token in row.split() if "_" in token]
                good = [(_MASC_WORDS.get(w, w), _MASC_TAGS.get(tag, tag)) for w, tag in pairs if w and tag]
                if good:
                    sentences.append(TaggedSentence(*zip(*good, strict=True), doc_id))
    return sentences


def newspapers_beside_wsj() -> list[TaggedSentence]:
    """Newspaper articles of MASC that are not from the Wall Street Journal."""
    return [each for each in masc_sentences("newspaper") if "/wsj_" not in each.doc_id]


def tweets() -> Split:
    """Tweets with 25 tags, as split by their authors; a tweet is a document."""
    parts = []
    for name in ("train", "dev", "test"):
        path = TWEETS / f"oct27.{name}"
        require(path)
        blocks = path.read_text(encoding="utf-8").strip().split("\n\n")
        rows = [[line.split("\t") for line in block.split("\n")] for block in blocks]
        parts.append([TaggedSentence(*zip(*row, strict=True), f"{name}{k}") for k, row in enumerate(rows)])
    return Split(*parts)


def gum_sparse() -> Split:
    """GUM with tags of part of speech, features and relation, such as "NOUN Number=Sing nsubj"; its own split."""
    return Split(*(list(_gum_part(name)) for name in ("train", "dev", "test")))


def _gum_part(name: str) -> Iterator[TaggedSentence]:
    path = GUM / f"en_gum-ud-{name}.conllu.gz"
    require(path)
    doc_id = ""
    words: list[str] = []
    tags: list[str] = []
    with gzip.open(path, "rt", encoding="utf-8") as stream:
        for line in stream:
            if line.startswith("# newdoc id"):
                doc_id = line.partition("= ")[2].strip()
            fields = line.rstrip("\n").split("\t")
            if len(fields) == 10 and fields[0].isdigit():
                words.append(fields[1])
                tags.append(" ".join((fields[3], fields[5], fields[7])))
            elif not line.strip() and words:
                yield TaggedSentence(words, tags, doc_id)
                words, tags = [], []
    if words:
        yield TaggedSentence(words, tags, doc_id)


def tag_counts(sentences: Sequence[TaggedSentence]) -> Counter[str]:
    """How often each tag occurs."""
    return Counter(tag for sentence in sentences for tag in sentence.tags)


def frequent_tag_pairs(sentences: Sequence[TaggedSentence], n: int) -> list[tuple[str, str]]:
    """The most frequent pairs of tags of neighbours, by descending count, then by name."""
    counts = Counter(pair for each in sentences for pair in zip(each.tags[:-1], each.tags[1:], strict=True))
    return sorted(counts, key=lambda pair: (-counts[pair], pair))[:n]

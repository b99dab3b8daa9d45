"""CorefUD: from annotated documents to the lines of a CoNLL-U file."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from corefsample._checks import shown
from corefsample.documents._annotated import REFERENCES, AnnotatedDocument
from corefsample.errors import ParameterError, ParameterHint
from corefsample.formats.annotated._conllu_reading import COMMENT, META, metadata_name
from corefsample.formats.annotated._conllu_writing import conllu_lines, node_numbers
from corefsample.formats.annotated._corefud_reading import DEFAULT_FIELDS, IDS, attribute_name, require_fields
from corefsample.formats.annotated._writing import layout

_FORBIDDEN = re.compile(r"[()|\t\r\n]")  # in any field
_MEANT = frozenset("%-=|()[]<>,: \t")  # characters with a meaning in the format, to be encoded in an id


class CorefudLines:
    """Lines of the documents of one file, which share the fields of ``Entity=`` and the ids of entities.

    Parameters
    ----------
    entity_fields
        Fields of ``Entity=``; None: those of the first document.
    date_keys
        Comments that may contain the date.
    """

    def __init__(self, entity_fields: str | None, date_keys: Sequence[str]) -> None:
        self._fields = entity_fields or ""
        self._is_chosen = entity_fields is not None
        self._date_keys = date_keys
        self._used: set[str] = set()
        self._n_documents = 0

    def of(self, document: AnnotatedDocument, kept: Sequence[int]) -> Iterator[str]:
        """Yield the lines of one document with the mentions `kept`."""
        own = "-".join(document.entity_fields or ()) or DEFAULT_FIELDS
        require_fields(own)
        self._fields = self._fields or own
        if not self._is_chosen and own != self._fields:
            raise ParameterError(
                f"fields of Entity= must be the same in a file ({self._fields}), got {own}",
                place=f"doc_id {document.doc_id!r}",
                hint=ParameterHint("entity_fields", "can choose"),
            )
        fields = self._fields.split("-")
        ids = self._ids(document, kept, unique="GRP" not in fields)
        dated, header = _dated(document, self._date_keys)
        extra = dict(document.tokens.extra)
        if "misc" in extra:
            written = {_encoded(entity): name for entity, name in ids.items()}
            extra["misc"] = [_with_references(written, misc) for misc in extra["misc"]]
            dated = dataclasses.replace(dated, tokens=dataclasses.replace(dated.tokens, extra=extra))
        opened = _opened(document, fields, ids, kept)
        entities = [""] * len(document.tokens)
        for token, brackets in layout(document.mentions[list(kept)]).items():
            closing = "".join(f"{ids[document.entities[kept[i]]]})" for i in brackets.closing)
            opening = "".join(f"({opened[i]}" for i in brackets.opening)
            single = "".join(f"({opened[i]})" for i in brackets.single)
            # The order that validators require.
            entities[token] = closing + opening + single if opening else single + closing
        return conllu_lines(dated, self._fields, entities, header)

    def _ids(self, document: AnnotatedDocument, kept: Sequence[int], *, unique: bool) -> dict[str, str]:
        """Id of each entity with one of the mentions `kept`: an eid is unique in a file, a GRP in its document."""
        self._n_documents += 1
        ids: dict[str, str] = {}
        for entity in dict.fromkeys(document.entities[i] for i in kept):
            ids[entity] = _encoded(entity)
            while unique and ids[entity] in self._used:
                ids[entity] += f".{self._n_documents}"
            if unique:
                self._used.add(ids[entity])
        return ids


def _opened(
    document: AnnotatedDocument, fields: Sequence[str], ids: Mapping[str, str], kept: Sequence[int]
) -> list[str]:
    """Fields of each opening bracket."""
    numbers = node_numbers(document)
    missing = [""] * document.n_mentions
    columns = [document.attributes.get(attribute_name(name), missing) for name in fields]
    texts = []
    for i in kept:
        values = [column[i] for column in columns]
        for k, name in enumerate(fields):
            if name in IDS:
                values[k] = ids[document.entities[i]]
            elif name == "head":
                start, _, head = document.mentions[i].tolist()
                values[k] = str(numbers[head] - numbers[start] + 1)
            elif _FORBIDDEN.search(values[k]) or ("-" in values[k] and k < len(fields) - 1):
                rule = "must contain no bracket, bar, tab or line break, and no hyphen except in the last field"
                place = f"doc_id {document.doc_id!r}"
                raise ParameterError(f"{name}[{i}] {rule}, got {shown(values[k])}", place=place)
        while values[-1] == "":
            values.pop()
        texts.append("-".join(values))
    return texts


def _dated(document: AnnotatedDocument, date_keys: Sequence[str]) -> tuple[AnnotatedDocument, list[str]]:
    """Return the document with its date in the comment that contains it, or a new comment if there is none."""
    if document.date is None or not date_keys:
        return document, []
    iso = document.date.isoformat()
    for key in date_keys:
        name = metadata_name(key)
        if key.startswith(META) and name in document.metadata:
            if str(document.metadata[name]).strip() == iso:
                return document, []
            return dataclasses.replace(document, metadata={**document.metadata, name: iso}), []
        comments = document.sentences[0].comments if document.sentences else ()
        for k, comment in enumerate(comments):
            match = COMMENT.fullmatch(comment)
            if match and match[1] == key:
                changed = comment if match[2].strip() == iso else f"# {key} = {iso}"
                first = dataclasses.replace(
                    document.sentences[0], comments=(*comments[:k], changed, *comments[k + 1 :])
                )
                return dataclasses.replace(document, sentences=(first, *document.sentences[1:])), []
    return document, [f"# {date_keys[0]} = {iso}"]


def _with_references(ids: Mapping[str, str], misc: Any) -> Any:
    """MISC with only the bridging and split antecedents whose entities are written, by their ids in the file."""
    if not isinstance(misc, str) or ("Bridge=" not in misc and "Split" not in misc):
        return misc
    parts = []
    for part in misc.split("|"):
        name, _, value = part.partition("=")
        if name in REFERENCES:
            pairs = [_reference(ids, pair) for pair in value.split(",")]
            part = f"{name}={','.join(filter(None, pairs))}" if any(pairs) else ""
        parts.append(part)
    return "|".join(filter(None, parts)) or "_"


def _reference(ids: Mapping[str, str], pair: str) -> str:
    """``e173<e188:part`` by the ids in the file, "" if one of the two is not written."""
    entities, colon, relation = pair.partition(":")
    names = entities.split("<")
    return "<".join(ids[name] for name in names) + colon + relation if all(name in ids for name in names) else ""


def _encoded(name: str) -> str:
    """An id with percent codes for characters that have a meaning in the format."""
    return "".join(
        "".join(f"%{byte:02X}" for byte in c.encode()) if c in _MEANT or c.isspace() or not c.isprintable() else c
        for c in name
    )

"""Articles in NITF XML, one a file: plain, gzip, or members of tar archives, which are read and never extracted."""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from typing import Any

from corefsample.errors import InputError
from events.news._fields import Record
from events.news._files import ARCHIVES, MARKUP, Progress, ending, opened
from events.news._nitf import NitfDocument, NitfError

__all__ = ["archive_records", "xml_records"]

XML_LIMIT = 2**26  # bytes of one document
_CHUNK = 2**16
_BLOCK = 512  # bytes of a tar header


def xml_records(path: str, progress: Progress, *, by_name: bool) -> Iterator[Record]:
    """Read the article of one file; `by_name`, its doc_id is the name of the file."""
    with opened(path, progress) as stream:
        content = stream.read(XML_LIMIT + 1)
    yield _record(content, os.path.basename(path), "", by_name=by_name)


def archive_records(path: str, progress: Progress, *, by_name: bool) -> Iterator[Record]:
    """Read the XML files of a tar archive, and of archives in it, in their order; other members do not count.

    `by_name`, a doc_id is the path of the member.

    Raises
    ------
    InputError
        If the archive is broken: what comes after the fault cannot be trusted.
    """
    with opened(path, progress) as stream:
        yield from _members(stream, path, "", by_name=by_name)


def _members(stream: Any, path: str, outer: str, *, by_name: bool) -> Iterator[Record]:
    inside = f"member {outer}: " if outer else ""
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]  # else it keeps every member's header
                kind = ending(member.name)
                if not member.isfile() or os.path.basename(member.name).startswith("."):
                    continue
                if kind in MARKUP:
                    yield _member(archive, member, outer, by_name=by_name)
                elif kind in ARCHIVES:
                    yield from _inner_archive(archive, member, path, outer, by_name=by_name)
            _require_end(archive)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(f"{path}: {inside}archive must be whole, got: {error}") from None


def _require_end(archive: tarfile.TarFile) -> None:
    """Refuse an archive that ends early or goes on with something else: tarfile takes either for its end."""
    stream: Any = archive.fileobj
    if stream.tell() < archive.offset + _BLOCK:
        raise tarfile.ReadError("no end of archive")
    while rest := stream.read(_CHUNK):
        if rest.strip(b"\0"):
            raise tarfile.ReadError(f"no header at byte {archive.offset}")


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo, outer: str, *, by_name: bool) -> Record:
    name = f"{outer}/{member.name}" if outer else member.name
    file: Any = archive.extractfile(member)
    if member.name.endswith(".gz"):
        try:
            content = gzip.GzipFile(fileobj=file).read(XML_LIMIT + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            return Record(f"member {name}", str, fault=f"gzip data must be whole, got: {error}")
    else:
        content = file.read(XML_LIMIT + 1)
    return _record(content, name, f"member {name}, ", by_name=by_name)


def _inner_archive(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, outer: str, *, by_name: bool
) -> Iterator[Record]:
    if outer:
        raise InputError(f"{path}: member {outer}: archives must be nested once at most, got {member.name!r} in it")
    file: Any = archive.extractfile(member)
    stream = file if member.name.endswith(".tar") else gzip.GzipFile(fileobj=file)
    yield from _members(stream, path, member.name, by_name=by_name)


def _record(content: bytes, name: str, within: str, *, by_name: bool) -> Record:
    if len(content) > XML_LIMIT:
        fault = f"a document must be at most {XML_LIMIT} bytes, got more"
        return Record(f"{within}line 1", lambda: content[:1000].decode("utf-8", "replace"), fault=fault)

    def original() -> str:
        return content.decode("utf-8", "replace")

    try:
        document = NitfDocument(content[i : i + _CHUNK] for i in range(0, len(content), _CHUNK))
    except NitfError as error:
        return Record(f"{within}line {error.line}", original, fault=str(error))
    return Record(
        f"{within}line {document.line}",
        original,
        text=document.text,
        date=document.date,
        doc_id=name if by_name else document.doc_id,
        title=document.title,
        metadata=document.metadata,
        names={"date": "date.publication", "doc_id": "doc-id"},
    )

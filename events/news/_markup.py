"""Articles in NITF XML, one in each file: plain, gzip, or members of tar archives, which are read as streams."""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from typing import Any

from corefsample.errors import DamagedFileError, InputError
from corefsample.files._paths import ARCHIVES, MARKUP
from corefsample.files._reading import ReadProgress, open_bytes
from events.news._fields import ArticleFault, Record
from events.news._nitf import NitfDocument, NitfError

XML_LIMIT = 2**26  # largest document in bytes
_CHUNK = 2**16  # number of bytes that are read at once
_BLOCK = 512  # size of a tar header in bytes


def xml_records(path: str, progress: ReadProgress, *, by_name: bool) -> Iterator[Record]:
    """Read the article of one file; `by_name` makes the name of the file its doc_id."""
    with open_bytes(path, progress) as stream:
        document = stream.read(XML_LIMIT + 1)
    yield _record(document, os.path.basename(path), "", by_name=by_name)


def archive_records(path: str, progress: ReadProgress, *, by_name: bool) -> Iterator[Record]:
    """Read the XML files of a tar archive, and of archives in it, in their order; other members are ignored.

    `by_name` makes the path of a member the doc_id of its article.

    Raises
    ------
    InputError
        If the archive is damaged, because its members after the damage cannot be trusted, or if archives are nested
        more than once.
    """
    with open_bytes(path, progress) as stream:
        yield from _members(stream, path, "", by_name=by_name)


def _members(stream: Any, path: str, outer: str, *, by_name: bool) -> Iterator[Record]:
    location = f"{path}: member {outer}" if outer else path
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]  # it would keep every member's header
                if not member.isfile() or os.path.basename(member.name).startswith("."):
                    continue
                if member.name.endswith(MARKUP):
                    yield _member(archive, member, outer, by_name=by_name)
                elif member.name.endswith(ARCHIVES):
                    yield from _inner_archive(archive, member, path, outer, by_name=by_name)
            _require_end(archive)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFileError(f"archive must be complete, got: {error}", place=location) from None


def _require_end(archive: tarfile.TarFile) -> None:
    """Raise ReadError if an archive is truncated or continues with other data, which tarfile treats as its end."""
    stream: Any = archive.fileobj
    if stream.tell() < archive.offset + _BLOCK:
        raise tarfile.ReadError("no end of archive")
    while trailing := stream.read(_CHUNK):
        if trailing.strip(b"\0"):
            raise tarfile.ReadError(f"no header at byte {archive.offset}")


def _member(archive: tarfile.TarFile, member: tarfile.TarInfo, outer: str, *, by_name: bool) -> Record:
    name = f"{outer}/{member.name}" if outer else member.name
    file: Any = archive.extractfile(member)
    if member.name.endswith(".gz"):
        try:
            document = gzip.GzipFile(fileobj=file).read(XML_LIMIT + 1)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            return Record(f"member {name}", str, fault=ArticleFault(f"gzip data must be complete, got: {error}"))
    else:
        document = file.read(XML_LIMIT + 1)
    return _record(document, name, f"member {name}, ", by_name=by_name)


def _inner_archive(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, outer: str, *, by_name: bool
) -> Iterator[Record]:
    if outer:
        location = f"{path}: member {outer}"
        raise InputError(f"an archive in an archive must contain no archive, got {member.name!r}", place=location)
    file: Any = archive.extractfile(member)
    stream = file if member.name.endswith(".tar") else gzip.GzipFile(fileobj=file)
    yield from _members(stream, path, member.name, by_name=by_name)


def _record(encoded: bytes, name: str, within: str, *, by_name: bool) -> Record:
    if len(encoded) > XML_LIMIT:
        fault = ArticleFault(f"a document must be at most {XML_LIMIT} bytes, got more")
        return Record(f"{within}line 1", lambda: encoded[:1000].decode("utf-8", "replace"), fault=fault)

    def original() -> str:
        return encoded.decode("utf-8", "replace")

    try:
        document = NitfDocument(encoded)
    except NitfError as error:
        return Record(f"{within}line {error.line}", original, fault=ArticleFault(str(error)))
    return Record(
        f"{within}line 1",
        original,
        text=document.text,
        date=document.date,
        doc_id=name if by_name else document.doc_id,
        title=document.title,
        metadata=document.metadata,
        names={"date": "date.publication", "doc_id": "doc-id"},
    )

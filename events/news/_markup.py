"""Articles in NITF XML, one in each file: plain, gzip, or members of tar archives, which are read as streams."""

from __future__ import annotations

import gzip
import os
import tarfile
import zlib
from collections.abc import Iterator
from typing import Any

from corefsample.errors import DamagedFileError, InputError
from corefsample.files._reading import ReadProgress, open_bytes
from events.news._corpus_files import ARCHIVES, MARKUP, news_suffix
from events.news._fields import ArticleFault, Record
from events.news._nitf import NitfDocument, NitfError

XML_LIMIT = 2**26  # bytes of one document
_CHUNK = 2**16
_BLOCK = 512  # bytes of a tar header


def xml_records(path: str, progress: ReadProgress, *, by_name: bool) -> Iterator[Record]:
    """Read the article of one file; with `by_name` its doc_id is the name of the file."""
    with open_bytes(path, progress) as stream:
        content = stream.read(XML_LIMIT + 1)
    yield _record(content, os.path.basename(path), "", by_name=by_name)


def archive_records(path: str, progress: ReadProgress, *, by_name: bool) -> Iterator[Record]:
    """Read the XML files of a tar archive, and of archives in it, in their order; other members are ignored.

    With `by_name` a doc_id is the path of the member.

    Raises
    ------
    InputError
        If the archive is damaged: its content after the fault cannot be trusted.
    """
    with open_bytes(path, progress) as stream:
        yield from _members(stream, path, "", by_name=by_name)


def _members(stream: Any, path: str, outer: str, *, by_name: bool) -> Iterator[Record]:
    place = f"{path}: member {outer}" if outer else path
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:
            while (member := archive.next()) is not None:
                archive.members = []  # type: ignore[attr-defined]  # it would keep every member's header
                suffix = news_suffix(member.name)
                if not member.isfile() or os.path.basename(member.name).startswith("."):
                    continue
                if suffix in MARKUP:
                    yield _member(archive, member, outer, by_name=by_name)
                elif suffix in ARCHIVES:
                    yield from _inner_archive(archive, member, path, outer, by_name=by_name)
            _require_end(archive)
    except (tarfile.TarError, EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DamagedFileError(f"archive must be complete, got: {error}", place=place) from None


def _require_end(archive: tarfile.TarFile) -> None:
    """Raise if an archive is truncated or continues with something else: tarfile takes either for its end."""
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
            return Record(f"member {name}", str, fault=ArticleFault(f"gzip data must be complete, got: {error}"))
    else:
        content = file.read(XML_LIMIT + 1)
    return _record(content, name, f"member {name}, ", by_name=by_name)


def _inner_archive(
    archive: tarfile.TarFile, member: tarfile.TarInfo, path: str, outer: str, *, by_name: bool
) -> Iterator[Record]:
    if outer:
        place = f"{path}: member {outer}"
        raise InputError(f"archives must be nested once at most, got {member.name!r} in it", place=place)
    file: Any = archive.extractfile(member)
    stream = file if member.name.endswith(".tar") else gzip.GzipFile(fileobj=file)
    yield from _members(stream, path, member.name, by_name=by_name)


def _record(content: bytes, name: str, within: str, *, by_name: bool) -> Record:
    if len(content) > XML_LIMIT:
        fault = ArticleFault(f"a document must be at most {XML_LIMIT} bytes, got more")
        return Record(f"{within}line 1", lambda: content[:1000].decode("utf-8", "replace"), fault=fault)

    def original() -> str:
        return content.decode("utf-8", "replace")

    try:
        document = NitfDocument(content)
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

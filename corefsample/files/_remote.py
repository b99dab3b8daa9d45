"""Files at URLs, through fsspec: this module and `_remote_services` alone know how they are reached."""

from __future__ import annotations

import glob
import io
import os
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from corefsample.errors import InputError
from corefsample.files._remote_services import as_os_errors, filesystem, is_listable, is_url, reading, writing

_TAGS = ("ETag", "etag", "generation", "Last-Modified", "LastModified", "mtime", "updated", "created")

# A Parquet file is read at many places in turn, one per column: blocks of a few MiB, of which some are kept.
_BLOCK = 4 * 2**20
_KEPT_BLOCKS = 32


@dataclass(frozen=True, slots=True)
class Stored:
    """A file at a URL.

    Attributes
    ----------
    n_bytes
        Its size; 0 if the service does not say.
    tag
        What changes with its content: the entity tag, else the time of its last change; "" if the service gives
        neither.
    """

    n_bytes: int
    tag: str


_sizes: dict[str, int] = {}  # of files already seen, for progress


def _stored(url: str, about: Mapping[str, Any]) -> Stored:
    tag = next((str(about[name]) for name in _TAGS if about.get(name)), "")
    _sizes[url] = int(about.get("size") or 0)
    return Stored(_sizes[url], tag.strip('"'))


def stored(url: str) -> Stored | None:
    """Describe a file as it is now; None if there is none.

    Raises
    ------
    InputError
        If the service cannot be asked, or it is a folder.
    """
    system, path = filesystem(url)
    try:
        with reading(url):
            about = system.info(path)
    except FileNotFoundError:
        return None
    if about.get("type") == "directory":
        hint = f"name its files, such as {url.rstrip('/') + '/*'!r}"
        raise InputError("input must be a regular file, got a folder", place=url, hint=hint)
    return _stored(url, about)


def size(url: str) -> int:
    """Bytes of a file as it was when it was last looked at."""
    if url not in _sizes:
        found = stored(url)
        return 0 if found is None else found.n_bytes
    return _sizes[url]


def expanded(url: str) -> list[str]:
    """The file of a URL, or the files that match a glob, sorted.

    Raises
    ------
    InputError
        If there is none, or the service cannot be asked.
    """
    if stored(url) is not None:
        return [url]
    is_glob = is_listable(url) and glob.has_magic(url)
    found: dict[str, Any] = {}
    if is_glob:
        system, path = filesystem(url)
        with reading(url):
            found = system.glob(path, detail=True)
    urls = {_joined_scheme(url, name): about for name, about in found.items() if about.get("type") == "file"}
    for name, about in urls.items():
        _stored(name, about)
    if not urls:
        rule = "glob must match a file" if is_glob else "file must exist"
        raise InputError(f"{rule}, got none", place=url)
    return sorted(urls)


def _joined_scheme(url: str, path: str) -> str:
    """URL of a path of a file system, with as many slashes as another URL has."""
    if is_url(path):
        return path
    scheme, _, given = url.partition("://")
    return f"{scheme}://{path if given.startswith('/') else path.lstrip('/')}"


class _RemoteFile(io.RawIOBase):
    """A file at a URL for reading at any place; every failure is an OSError.

    Web servers that cannot send a part of a file, or do not know its size, send the whole: it goes to a temporary file.
    """

    def __init__(self, url: str, *, in_order: bool) -> None:
        super().__init__()
        self._in_order = in_order
        self._system, self._path = filesystem(url)
        self._is_whole = False
        with as_os_errors():
            about = {} if is_listable(url) else self._system.info(self._path)
            if is_listable(url) or (about.get("size") and about.get("partial", True)):
                self._file: Any = self._by_blocks()
            else:
                self._fetch_whole(0)

    def _by_blocks(self) -> Any:
        cache: dict[str, Any] = {"cache_type": "blockcache", "cache_options": {"maxblocks": _KEPT_BLOCKS}}
        if self._in_order:
            cache = {"cache_type": "readahead"}
        return self._system.open(self._path, "rb", block_size=_BLOCK, **cache)

    def _fetch_whole(self, position: int) -> None:
        local = tempfile.TemporaryFile()  # noqa: SIM115
        try:
            self._system.get_file(self._path, local)
            local.seek(position)
        except BaseException:
            local.close()
            raise
        self._file, self._is_whole = local, True

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        with as_os_errors():
            position = self._file.tell()
            try:
                content: bytes = self._file.read(len(view))
            except ValueError:  # the server sent more than the part that was asked for
                if self._is_whole:
                    raise
                self._fetch_whole(position)
                content = self._file.read(len(view))
        view[: len(content)] = content
        return len(content)

    def seek(self, offset: int, whence: int = 0) -> int:
        return int(self._file.seek(offset, whence))

    def tell(self) -> int:
        return int(self._file.tell())

    def close(self) -> None:
        if not self.closed:
            file = getattr(self, "_file", None)
            if file is not None:
                file.close()
        super().close()


def opened(url: str, *, in_order: bool) -> io.RawIOBase:
    """Open a file for reading at any place.

    Parameters
    ----------
    url
        The file.
    in_order
        Whether it will be read from its beginning to its end; otherwise blocks already read are kept, up to 128 MiB.

    Raises
    ------
    OSError
        Here and while it is read, with a text of one line.
    """
    return _RemoteFile(url, in_order=in_order)


# --- writing, and folders ---


def upload(files: Mapping[str, str]) -> None:
    """Copy local files to URLs of one service; each appears when it is complete.

    Raises
    ------
    OutputError
        If that fails.
    """
    if files:
        urls = list(files.values())
        system, _ = filesystem(urls[0])
        with writing(urls[0]):
            system.put([*files], [filesystem(url)[1] for url in urls])
        for name, url in files.items():
            _sizes[url] = os.path.getsize(name)


def download(files: Mapping[str, str]) -> None:
    """Copy files at URLs of one service to local ones.

    Raises
    ------
    InputError
        If that fails.
    """
    if files:
        urls = [*files]
        system, _ = filesystem(urls[0])
        with reading(urls[0]):
            system.get([filesystem(url)[1] for url in urls], [*files.values()])


def remove(urls: Sequence[str]) -> None:
    """Remove files of one service; those that do not exist are left out.

    Raises
    ------
    OutputError
        If that fails.
    """
    if urls:
        system, _ = filesystem(urls[0])
        with writing(urls[0]), suppress(FileNotFoundError):
            system.rm([filesystem(url)[1] for url in urls])


def listing(url: str) -> list[str]:
    """Names of the files in a folder at any depth; none if the folder does not exist.

    Raises
    ------
    InputError
        If the service cannot be asked.
    """
    system, path = filesystem(url)
    start = path.rstrip("/") + "/"
    try:
        with reading(url):
            found = system.find(path)
    except FileNotFoundError:
        return []
    return sorted(name[len(start) :] for name in found if name.startswith(start))

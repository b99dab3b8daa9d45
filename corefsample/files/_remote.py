"""Files at URLs, through fsspec: this module alone knows how they are reached.

A URL is a scheme with "://": s3://bucket/key, gs://bucket/key, https://host/path. Everything else is a local path.
Credentials and endpoints are those of fsspec's configuration and of the services' own libraries.
"""

from __future__ import annotations

import errno
import glob
import io
import logging
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from corefsample._extras import install_hint
from corefsample.errors import InputError, OutputError, ParameterError

__all__ = [
    "Stored",
    "copy_files",
    "download",
    "expanded",
    "is_listable",
    "is_url",
    "listing",
    "opened",
    "remove",
    "require_writable_url",
    "size",
    "stored",
    "upload",
]

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)  # two letters at least: one is a drive
_WEB = ("http", "https")
_CONFIGURATION = "docs/remote.md says how credentials and endpoints are configured"
_NETWORK = "check the address and the network; the same command tries again"
# Their errors are of many families; those of the system are OSError.
_LIBRARIES = {"aiobotocore", "aiohttp", "boto3", "botocore", "fsspec", "gcsfs", "google", "requests", "s3fs", "urllib3"}
for _name in ("fsspec", "gcsfs", "s3fs"):  # errors are reported once, by us; programs can still log theirs
    logging.getLogger(_name).addHandler(logging.NullHandler())
_TAGS = ("ETag", "etag", "generation", "Last-Modified", "LastModified", "mtime", "updated", "created")

# A Parquet file is read at many places in turn, one per column: blocks of a few MiB, of which some are kept.
_BLOCK = 4 * 2**20
_KEPT_BLOCKS = 32
_CONNECT_SECONDS, _SILENT_SECONDS = 30, 300


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a name is a URL, not a local path."""
    return _SCHEME.match(os.fspath(path)) is not None


def _scheme(url: str) -> str:
    found = _SCHEME.match(url)
    return "" if found is None else found[1].lower()


def is_listable(url: str) -> bool:
    """Whether the service can list its files, which a web server cannot."""
    return _scheme(url) not in _WEB


def require_writable_url(url: str) -> None:
    """Raise unless files can be written to the service.

    Raises
    ------
    ParameterError
        If the scheme is that of a web server or unknown, or a library is missing.
    """
    if not is_listable(url):
        rule = "output must be a local path or at a service that can be written to, such as s3:// or gs://"
        raise ParameterError(f"{rule}, got {_scheme(url)}://", place=url)
    _filesystem(url)


# --- file systems and their errors ---


def _filesystem(url: str) -> tuple[Any, str]:
    """File system of a URL, and the path in it."""
    try:
        import fsspec.config
        import fsspec.core
        from fsspec.registry import available_protocols

        options: dict[str, Any] = {"use_listings_cache": False}  # files change while a program runs
        if _scheme(url) in _WEB and not {"client_kwargs"} & {*fsspec.config.conf.get(_scheme(url), ())}:
            import aiohttp

            # By default a download may last five minutes in all.
            limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS)
            options["client_kwargs"] = {"timeout": limits}
        if _scheme(url) not in available_protocols():
            rule = "scheme of a URL must be s3, gs, https, or another that fsspec knows"
            raise ParameterError(f"{rule}, got {_scheme(url)}://", place=url)
        with _as_os_errors():
            system, path = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        missing = error.name or str(error)
        rule = "a URL needs libraries that are not installed"
        raise ParameterError(f"{rule}, got no {_one_line(missing)}", place=url, hint=install_hint("remote")) from None
    except OSError as error:
        raise InputError(f"URL must be usable, got: {_reason(error)}", place=url, hint=_hint(error)) from None
    return system, path


@contextmanager
def _as_os_errors() -> Iterator[None]:
    """Turn the errors of the libraries into those of the system, with a text of one line."""
    try:
        yield
    except ImportError:
        raise
    except Exception as error:
        cause = error.__cause__
        if isinstance(error, FileNotFoundError) and type(cause).__module__.split(".")[0] == "aiohttp":
            # fsspec reports any failure of a web server as a missing file.
            if getattr(cause, "status", None) == 404:
                raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT)) from None
            error = cause if isinstance(cause, Exception) else error
        if getattr(error, "status", None) in (401, 403):
            raise PermissionError(errno.EACCES, _text(error)) from None
        if isinstance(error, OSError) and type(error).__module__ == "builtins":
            raise
        if isinstance(error, OSError) or type(error).__module__.split(".")[0] in _LIBRARIES:
            kind: type[OSError] = ConnectionError
            if "Credential" in type(error).__name__ or "Token" in type(error).__name__:
                kind = PermissionError
            raise kind(errno.EIO, _text(error)) from None
        raise


def _text(error: BaseException) -> str:
    status, message = getattr(error, "status", None), getattr(error, "message", None)
    if isinstance(status, int) and status > 0:
        return f"HTTP status {status} {_one_line(message or '')}".rstrip()
    return _one_line(error) or type(error).__name__


def _one_line(value: object) -> str:
    return " ".join(str(value).split())


def _reason(error: OSError) -> str:
    if isinstance(error, FileNotFoundError):
        return _one_line(error.strerror or error) or "no such file"
    return _one_line(error.strerror or error) or type(error).__name__


def _hint(error: OSError) -> str | None:
    if isinstance(error, PermissionError):
        return _CONFIGURATION
    return None if isinstance(error, FileNotFoundError) else _NETWORK


@contextmanager
def _writing(url: str) -> Iterator[None]:
    """Turn errors about an output at a URL into an OutputError."""
    try:
        with _as_os_errors():
            yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        hint = _CONFIGURATION if isinstance(error, FileNotFoundError) else _hint(error)  # no such bucket
        raise OutputError(f"output must be writable, got: {_reason(error)}", place=url, hint=hint) from None


@contextmanager
def _reading(url: str) -> Iterator[None]:
    """Turn errors about an input at a URL into an InputError."""
    try:
        with _as_os_errors():
            yield
    except FileNotFoundError:
        raise InputError("file must exist, got none", place=url) from None
    except OSError as error:
        raise InputError(f"file must be readable, got: {_reason(error)}", place=url, hint=_hint(error)) from None


# --- reading ---


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
    system, path = _filesystem(url)
    try:
        with _reading(url), _missing_as(url):
            about = system.info(path)
    except _NoneError:
        return None
    if about.get("type") == "directory":
        hint = f"name its files, such as {url.rstrip('/') + '/*'!r}"
        raise InputError("input must be a regular file, got a folder", place=url, hint=hint)
    return _stored(url, about)


class _NoneError(Exception):
    """There is no such file."""


@contextmanager
def _missing_as(url: str) -> Iterator[None]:
    try:
        with _as_os_errors():
            yield
    except FileNotFoundError:
        raise _NoneError(url) from None


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
        system, path = _filesystem(url)
        with _reading(url):
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
        self._system, self._path = _filesystem(url)
        self._is_whole = False
        with _as_os_errors():
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
        with _as_os_errors():
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
        system, _ = _filesystem(urls[0])
        with _writing(urls[0]):
            system.put([*files], [_filesystem(url)[1] for url in urls])
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
        system, _ = _filesystem(urls[0])
        with _reading(urls[0]):
            system.get([_filesystem(url)[1] for url in urls], [*files.values()])


def copy_files(files: Mapping[str, str]) -> None:
    """Copy files within a service.

    Raises
    ------
    OutputError
        If that fails.
    """
    if files:
        system, _ = _filesystem(next(iter(files)))
        with _writing(next(iter(files.values()))):
            system.copy([_filesystem(url)[1] for url in files], [_filesystem(url)[1] for url in files.values()])


def remove(urls: Sequence[str]) -> None:
    """Remove files of one service; those that do not exist are left out.

    Raises
    ------
    OutputError
        If that fails.
    """
    if urls:
        system, _ = _filesystem(urls[0])
        with _writing(urls[0]), suppress(FileNotFoundError):
            if len(urls) == 1:
                system.rm_file(_filesystem(urls[0])[1])
            else:
                system.rm([_filesystem(url)[1] for url in urls])


def listing(url: str) -> dict[str, Stored]:
    """The files in a folder at any depth, by their names in it; none if the folder does not exist.

    Raises
    ------
    InputError
        If the service cannot be asked.
    """
    system, path = _filesystem(url)
    start = path.rstrip("/") + "/"
    try:
        with _reading(url), _missing_as(url):
            found = system.find(path, detail=True)
    except _NoneError:
        return {}
    about = {name[len(start) :]: each for name, each in found.items() if name.startswith(start)}
    return {name: _stored(f"{url.rstrip('/')}/{name}", each) for name, each in about.items() if name}

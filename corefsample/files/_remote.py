"""Files at URLs, through fsspec: an input is opened, a finished output is uploaded.

A URL is a scheme with "://": s3://bucket/key, gs://bucket/key, https://host/path. Everything else is a local path.
Credentials and endpoints are those of fsspec's configuration and of the services' own libraries.
"""

import errno
import glob
import logging
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from corefsample._lazy import install_hint
from corefsample.errors import CorefsampleError, InputError, Obstacle, OutputError, ParameterError

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)  # two letters at least: one is a drive
_WEB = ("http", "https")
_CONFIGURATION = "docs/remote.md says how credentials and endpoints are configured"
_EXTRAS = {"http": "http", "https": "http", "s3": "s3", "s3a": "s3", "gs": "gcs", "gcs": "gcs"}  # by scheme of a URL
_LATER = (408, 425, 429)  # HTTP statuses of a client's error that passes
_NETWORK = "check the address and the network; the same command tries again"
# Their errors are of many families; those of the system are OSError.
_LIBRARIES = {"aiobotocore", "aiohttp", "boto3", "botocore", "fsspec", "gcsfs", "google", "requests", "s3fs", "urllib3"}
for _name in ("fsspec", "gcsfs", "s3fs"):  # errors are reported once, by us; programs can still log theirs
    logging.getLogger(_name).addHandler(logging.NullHandler())
_TAGS = ("ETag", "etag", "generation", "Last-Modified", "LastModified", "mtime", "updated", "created")

# A Parquet file is read at many places in turn, one per column: blocks of 4 MiB, of which 32 are kept.
_BLOCKS = {"block_size": 4 * 2**20, "cache_type": "blockcache"}

# A user with a password, or any of a web server; and the parts of a query that sign it or say until when.
_USER = re.compile(r"(?<=://)([^/?#@]*:[^/?#]*|(?<=https://)[^/?#]*|(?<=http://)[^/?#]*)@", re.IGNORECASE)
_SIGNATURE = re.compile(
    r"(?<=[?&])(x-(?:amz|goog)-[^=&#]+|[^=&#]*(?:signature|token|secret|password|credential|hmac)|sig|auth|expires"
    r"|api[-_]?key|access[-_]?key)=[^&#]*",
    re.IGNORECASE,
)
credentials: dict[str, str] = {}  # complete URLs by their form without credentials; other processes need a copy


def is_url(path: str | os.PathLike[str]) -> bool:
    """True if a name is a URL and not a local path."""
    return _SCHEME.match(os.fspath(path)) is not None


def _scheme_of(url: str) -> str:
    return url.partition("://")[0].lower()


def without_credentials(url: str) -> str:
    """URL without its credentials, to be shown and recorded; this process can still open it. A path is unchanged."""
    if not is_url(url):
        return url
    shown = _SIGNATURE.sub(r"\1=...", _USER.sub("", url))
    if shown != url:
        credentials[shown] = url
    return shown


# --- services and their errors ---


def _file_system(url: str) -> tuple[Any, str]:
    """File system of a URL, and the path in it."""
    try:
        import fsspec.core

        with _errors(url, InputError):  # no listings are kept, as files change while a program runs
            return fsspec.core.url_to_fs(credentials.get(url, url), use_listings_cache=False)  # type: ignore[no-any-return]
    except ImportError as error:
        missing = f"got no {error.name}" if error.name else f"got: {_one_line(error)}"
        rule = f"a URL needs libraries that are not installed, {missing}"
        raise ParameterError(rule, place=url, hint=install_hint(_EXTRAS.get(_scheme_of(url), "remote"))) from None
    except ValueError:
        rule = "scheme of a URL must be s3, gs, https, or another that fsspec knows"
        raise ParameterError(f"{rule}, got {_scheme_of(url)}://", place=url) from None


@contextmanager
def _errors(url: str, kind: type[CorefsampleError]) -> Iterator[None]:
    """Turn the errors of the libraries about a URL into errors of one line; a missing input is a FileNotFoundError."""
    try:
        yield
    except (CorefsampleError, ImportError):
        raise
    except Exception as error:
        # fsspec reports any failure of a web server as a missing file.
        is_web = isinstance(error, FileNotFoundError) and type(error.__cause__).__module__.startswith("aiohttp")
        reason = error.__cause__ or error if is_web else error
        status = getattr(reason, "status", None)
        status = status if isinstance(status, int) and status > 0 else None
        if kind is InputError and (isinstance(reason, FileNotFoundError) or status == 404):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), url) from None
        name = type(reason).__name__
        if not isinstance(reason, OSError) and type(reason).__module__.partition(".")[0] not in _LIBRARIES:
            raise
        # A FileNotFoundError of an output is a bucket that does not exist.
        is_denied = isinstance(reason, (PermissionError, FileNotFoundError)) or status in (401, 403)
        hint = _CONFIGURATION if is_denied or "Credential" in name or "Token" in name else _NETWORK
        is_refused = status is not None and 400 <= status < 500 and status not in _LATER
        obstacle: Obstacle | None = "NoConnection" if hint == _NETWORK and not is_refused else None
        rule = "file must be readable" if kind is InputError else "output must be writable"
        text = _one_line(getattr(reason, "strerror", None) or reason) or name
        if status is not None:
            text = f"HTTP status {status} {_one_line(getattr(reason, 'message', None) or '')}".rstrip()
        raise kind(f"{rule}, got: {text}", place=url, hint=hint, obstacle=obstacle) from None


def _one_line(value: object) -> str:
    text = " ".join(str(value).split())
    for shown, url in credentials.items():
        text = text.replace(url, shown)
    return text


# --- inputs ---


def stored(url: str) -> tuple[int, str]:
    """Describe the current state of a file.

    Returns
    -------
    int
        Size of the file in bytes; 0 if the service does not report it.
    str
        Version of the file's content: the entity tag, else the time of its last change; "" if the service reports
        neither.

    Raises
    ------
    InputError
        If the service does not answer, or the URL is that of a folder.
    FileNotFoundError
        If the file does not exist.
    """
    system, path = _file_system(url)
    with _errors(url, InputError):
        about = system.info(path)
    if about.get("type") == "directory":
        hint = f"name its files, such as {url.rstrip('/') + '/*'!r}"
        raise InputError("input must be a regular file, got a folder", place=url, hint=hint)
    version = next((str(about[name]) for name in _TAGS if about.get(name)), "")
    return int(about.get("size") or 0), version.strip('"')


def exists(url: str) -> bool:
    """True if a file exists; see `stored`."""
    with suppress(FileNotFoundError):
        return bool(stored(url))
    return False


def expanded(url: str) -> list[str]:
    """The file of a URL, or the files that match a glob, sorted; it may match none.

    Raises
    ------
    InputError
        If the file does not exist, or the service does not answer.
    """
    if exists(url):
        return [url]
    if _scheme_of(url) in _WEB or not glob.has_magic(url):
        hint = "web servers list no files: name each of them" if "*" in url else None
        raise InputError("file must exist, got none", place=url, hint=hint)
    system, path = _file_system(url)
    with _errors(url, InputError):
        matches = system.glob(path, detail=True)
    return sorted(system.unstrip_protocol(name) for name, about in matches.items() if about.get("type") == "file")


class _RemoteFile:
    """A file of fsspec at a URL, opened for reading; every failure of reading is an InputError."""

    def __init__(self, url: str, file: Any) -> None:
        self._url, self._file = url, file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        with _errors(self._url, InputError):
            try:
                return self._file.read(size)  # type: ignore[no-any-return]
            except ValueError as error:  # from fsspec, where a web server sends all of the file instead of a part
                hint = "download the file first, if the server cannot send parts of it"
                raise InputError(f"file must be readable, got: {error}", place=self._url, hint=hint) from None

    def readinto(self, buffer: Any) -> int:
        data = self.read(len(buffer))
        buffer[: len(data)] = data
        return len(data)


def opened(url: str, *, in_order: bool = False) -> Any:
    """Open a file for reading.

    Parameters
    ----------
    url
        URL of the file.
    in_order
        True if the file is read from its start to its end, which every web server allows; by default, it can be read at
        any position.

    Raises
    ------
    InputError
        If the service does not answer or reports an error, when the file is opened or later, while it is read.
    FileNotFoundError
        If the file does not exist.
    """
    system, path = _file_system(url)
    options = {"block_size": 0} if in_order and _scheme_of(url) in _WEB else _BLOCKS
    with _errors(url, InputError):
        return _RemoteFile(url, system.open(path, "rb", **options))


# --- outputs ---


def require_writable_url(url: str) -> None:
    """Raise unless files can be written to the service.

    Raises
    ------
    ParameterError
        If the scheme is that of a web server or unknown, or a library is missing.
    """
    if _scheme_of(url) in _WEB:
        rule = "output must be a local path or at a service that can be written to, such as s3:// or gs://"
        raise ParameterError(f"{rule}, got {_scheme_of(url)}://", place=url)
    _file_system(url)


def upload(local: str, url: str) -> None:
    """Copy a local file to a URL, where it appears when it is complete.

    Raises
    ------
    OutputError
        If that fails.
    """
    system, path = _file_system(url)
    with _errors(url, OutputError):
        system.put_file(local, path)


def remove(url: str) -> None:
    """Remove a file if it exists.

    Raises
    ------
    OutputError
        If that fails.
    """
    system, path = _file_system(url)
    with _errors(url, OutputError), suppress(FileNotFoundError):
        system.rm(path)

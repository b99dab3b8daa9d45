"""The services behind URLs: how fsspec reaches them, and their errors as ours.

A URL is a scheme with "://": s3://bucket/key, gs://bucket/key, https://host/path. Everything else is a local path.
Credentials and endpoints are those of fsspec's configuration and of the services' own libraries.
"""

from __future__ import annotations

import errno
import logging
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from corefsample._extras import install_hint
from corefsample.errors import InputError, OutputError, ParameterError

_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+)://", re.IGNORECASE)  # two letters at least: one is a drive
_WEB = ("http", "https")
_CONFIGURATION = "docs/remote.md says how credentials and endpoints are configured"
_NETWORK = "check the address and the network; the same command tries again"
# Their errors are of many families; those of the system are OSError.
_LIBRARIES = {"aiobotocore", "aiohttp", "boto3", "botocore", "fsspec", "gcsfs", "google", "requests", "s3fs", "urllib3"}
for _name in ("fsspec", "gcsfs", "s3fs"):  # errors are reported once, by us; programs can still log theirs
    logging.getLogger(_name).addHandler(logging.NullHandler())

_CONNECT_SECONDS, _SILENT_SECONDS = 30, 300

# A user with a password, or any of a web server; and the parts of a query that sign it or say until when.
_USER = re.compile(r"(?<=://)([^/?#@]*:[^/?#]*|(?<=https://)[^/?#]*|(?<=http://)[^/?#]*)@", re.IGNORECASE)
_SIGNATURE = re.compile(
    r"(?<=[?&])(x-(?:amz|goog)-[^=&#]+|[^=&#]*(?:signature|token|secret|password|credential|hmac)|sig|auth|expires"
    r"|api[-_]?key|access[-_]?key)=[^&#]*",
    re.IGNORECASE,
)
_complete: dict[str, str] = {}  # URLs with credentials by what is shown of them


def without_credentials(url: str) -> str:
    """What is shown and recorded of a URL; this process can still open it. Anything else is returned as it is."""
    if not is_url(url):
        return url
    shown = _SIGNATURE.sub(r"\1=...", _USER.sub("", url))
    if shown != url:
        _complete[shown] = url
    return shown


def credentials() -> dict[str, str]:
    """URLs with credentials by what is shown of them, for another process."""
    return dict(_complete)


def give_credentials(complete: Mapping[str, str]) -> None:
    """Let this process open the URLs of another one."""
    _complete.update(complete)


def is_url(path: str | os.PathLike[str]) -> bool:
    """Whether a name is a URL, not a local path."""
    return _SCHEME.match(os.fspath(path)) is not None


def scheme_of(url: str) -> str:
    """The scheme of a URL in lower case, or nothing."""
    found = _SCHEME.match(url)
    return "" if found is None else found[1].lower()


def is_listable(url: str) -> bool:
    """Whether the service can list its files, which a web server cannot."""
    return scheme_of(url) not in _WEB


def require_writable_url(url: str) -> None:
    """Raise unless files can be written to the service.

    Raises
    ------
    ParameterError
        If the scheme is that of a web server or unknown, or a library is missing.
    """
    if not is_listable(url):
        rule = "output must be a local path or at a service that can be written to, such as s3:// or gs://"
        raise ParameterError(f"{rule}, got {scheme_of(url)}://", place=url)
    filesystem(url)


def filesystem(url: str) -> tuple[Any, str]:
    """File system of a URL, and the path in it."""
    try:
        import fsspec.config
        import fsspec.core
        from fsspec.registry import available_protocols

        options: dict[str, Any] = {"use_listings_cache": False}  # files change while a program runs
        if scheme_of(url) in _WEB and not {"client_kwargs"} & {*fsspec.config.conf.get(scheme_of(url), ())}:
            import aiohttp

            # By default a download may last five minutes in all.
            limits = aiohttp.ClientTimeout(total=None, sock_connect=_CONNECT_SECONDS, sock_read=_SILENT_SECONDS)
            options["client_kwargs"] = {"timeout": limits}
        if scheme_of(url) not in available_protocols():
            rule = "scheme of a URL must be s3, gs, https, or another that fsspec knows"
            raise ParameterError(f"{rule}, got {scheme_of(url)}://", place=url)
        with as_os_errors():
            system, path = fsspec.core.url_to_fs(_complete.get(url, url), **options)
    except ImportError as error:
        missing = error.name or str(error)
        rule = "a URL needs libraries that are not installed"
        raise ParameterError(f"{rule}, got no {_one_line(missing)}", place=url, hint=install_hint("remote")) from None
    except OSError as error:
        raise InputError(f"URL must be usable, got: {_reason(error)}", place=url, hint=_hint(error)) from None
    return system, path


@contextmanager
def as_os_errors() -> Iterator[None]:
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
    text = " ".join(str(value).split())
    for shown, url in _complete.items():
        text = text.replace(url, shown)
    return text


def _reason(error: OSError) -> str:
    unnamed = "no such file" if isinstance(error, FileNotFoundError) else type(error).__name__
    return _one_line(error.strerror or error) or unnamed


def _hint(error: OSError) -> str | None:
    if isinstance(error, PermissionError):
        return _CONFIGURATION
    return None if isinstance(error, FileNotFoundError) else _NETWORK


@contextmanager
def writing(url: str) -> Iterator[None]:
    """Turn errors about an output at a URL into an OutputError."""
    try:
        with as_os_errors():
            yield
    except OSError as error:
        if isinstance(error, OutputError):
            raise
        hint = _CONFIGURATION if isinstance(error, FileNotFoundError) else _hint(error)  # no such bucket
        raise OutputError(f"output must be writable, got: {_reason(error)}", place=url, hint=hint) from None


@contextmanager
def reading(url: str) -> Iterator[None]:
    """Turn errors about an input at a URL into an InputError, but for FileNotFoundError."""
    try:
        with as_os_errors():
            yield
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InputError(f"file must be readable, got: {_reason(error)}", place=url, hint=_hint(error)) from None

"""Check of paths that a user's file gives for a dependency scheme."""

from __future__ import annotations

from collections.abc import Sequence

from corefsample.errors import InputError, ParameterError
from corefsample.syntax import SCHEMES, path_labels


def check_scheme_paths(scheme: str, paths: Sequence[str], place: str) -> None:
    """Raise unless paths can be read and have labels of a scheme."""
    if scheme not in SCHEMES:
        rule = f"scheme must be one of {', '.join(SCHEMES)}"
        raise InputError(f"{rule}, got {scheme!r}", place=place)
    place = f"{place}.{scheme}"
    for path in paths:
        try:
            labels = path_labels(path)
        except ParameterError as error:
            raise error.as_input_error(place) from None
        for label in labels:
            if SCHEMES[scheme].reads(label.rstrip("*")) != label.rstrip("*"):
                raise InputError(f"labels must be of the scheme, got {label!r} in {path!r}", place=place)

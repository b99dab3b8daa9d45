"""Check of paths that a user's file gives for a dependency scheme."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from corefsample.errors import InputError, ParameterError
from corefsample.syntax import SCHEMES
from corefsample.syntax._paths import path_labels


def faults_of_paths(scheme: str, paths: Sequence[str], place: str) -> Iterator[InputError]:
    """The faults of paths that cannot be read, or have labels that are not of a scheme."""
    if scheme not in SCHEMES:
        rule = f"scheme must be one of {', '.join(SCHEMES)}"
        yield InputError(f"{rule}, got {scheme!r}", place=place)
        return
    place = f"{place}.{scheme}"
    for path in paths:
        try:
            labels = path_labels(path)
        except ParameterError as error:
            yield error.as_input_error(place)
            continue
        for label in labels:
            if SCHEMES[scheme].reads(label.rstrip("*")) != label.rstrip("*"):
                yield InputError(f"labels must be of the scheme, got {label!r} in {path!r}", place=place)

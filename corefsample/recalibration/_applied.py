"""The recalibrations that the scores of a document have had: their fingerprints, in a field of its metadata."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from corefsample.documents._scored import RECALIBRATION_FIELD
from corefsample.errors import ParameterError


def applied_to(metadata: Mapping[str, Any]) -> str:
    """Fingerprints of the recalibrations of a document's scores, first to last, separated by blanks; "" if none.

    Raises
    ------
    ParameterError
        If the field is no text.
    """
    found = metadata.get(RECALIBRATION_FIELD, "")
    if not isinstance(found, str):
        rule = f"metadata.{RECALIBRATION_FIELD} must be the fingerprints of recalibrations as a text"
        raise ParameterError(f"{rule}, got {found!r}")
    return found


def after(applied: str, fingerprint: str) -> str:
    """Fingerprints once another recalibration has been applied."""
    return f"{applied} {fingerprint}".strip()


def marked(metadata: Mapping[str, Any], fingerprint: str) -> dict[str, Any]:
    """Metadata of a document whose scores have had one more recalibration.

    Raises
    ------
    ParameterError
        If they have had it already.
    """
    applied = applied_to(metadata)
    if not fingerprint:
        return dict(metadata)
    if fingerprint in applied.split():
        rule = "must not have had this recalibration already"
        raise ParameterError(f"{rule}, got {RECALIBRATION_FIELD} {applied!r}", parameter="scores")
    return {**metadata, RECALIBRATION_FIELD: after(applied, fingerprint)}


def described(applied: str) -> str:
    """Fingerprints in a message."""
    return f"scores with the recalibration {applied}" if applied else "scores without a recalibration"

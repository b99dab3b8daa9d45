"""Properties of a parse that a treebank can confirm or not: arcs, roles, and paths, as numbers per token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from corefsample._arrays import Ints
from corefsample.documents._tokens import Tokens
from corefsample.syntax import SCHEMES
from corefsample.syntax._codes import Role
from corefsample.syntax._paths import ParseView, follow
from corefsample.syntax._roles import NeutralParse

MOST_ARCS = 7
ROLE_PATHS = "role paths"

PathsByScheme = Mapping[str, Sequence[str]]


def properties_of(parses: Sequence[Tokens], schemes: Sequence[str]) -> dict[str, Ints]:
    """Properties of each token in several parses of one document.

    Parameters
    ----------
    parses
        Of the same words.
    schemes
        Dependency scheme of each: ud2, ud1 or clearnlp. If they differ, the roles alone are returned, which are the
        same in all.

    Returns
    -------
    dict of int64 (n_parses, n_tokens)
        By name of the property: a number that is equal in two parses if the property is, and -1 for a token without
        it. "arcs": the head. "labelled arcs": head and label. "paths of L arcs", L from 1 to 7: heads and labels of
        the L arcs from the token upwards; the last may be that of the root. "roles": role and governor of
        `corefsample.syntax._roles.NeutralParse`, of tokens whose role is not one of function words and other ones.
    """
    found: dict[str, Ints] = {}
    if len(set(schemes)) == 1:
        heads = np.stack([tokens.head for tokens in parses]).astype(np.int64)
        names = [[_plain(label) for label in tokens.dep] for tokens in parses]
        labels = np.unique(names, return_inverse=True)[1].reshape(heads.shape)
        found["arcs"] = heads + 1
        found["labelled arcs"] = (heads + 1) * (labels.max(initial=0) + 1) + labels
        found |= _paths(heads, found["labelled arcs"])
    found["roles"] = np.stack([_roles(*parse) for parse in zip(parses, schemes, strict=True)])
    return found


def role_path_ends(
    tokens: Tokens, scheme: str, roles: Mapping[str, PathsByScheme], upos: frozenset[str]
) -> set[tuple[int, int, int]]:
    """Where the paths of roles lead: number of the role, token at which they start, token at which they end.

    They start at each token with one of these parts of speech.
    """
    view = ParseView(tokens, SCHEMES[scheme])
    starts = [token for token, tag in enumerate(tokens.upos) if tag in upos]
    return {
        (number, start, end)
        for number, paths in enumerate(roles.values())
        for path in paths.get(scheme, ())
        for start in starts
        for end in follow(path, view, start)
    }


def _plain(label: str) -> str:
    return "root" if label.lower() == "root" else label


def _paths(heads: Ints, arcs: Ints) -> dict[str, Ints]:
    """Numbers of the paths of 1, 2, ... arcs upwards, each made of the token's arc and its head's path."""
    paths = {"paths of 1 arc": arcs}
    shorter = arcs
    for length in range(2, MOST_ARCS + 1):
        above = np.take_along_axis(shorter, np.maximum(heads, 0), axis=1)
        exists = (heads >= 0) & (above >= 0)
        pairs = np.stack([arcs[exists], above[exists]])
        longer = np.full(heads.shape, -1, np.int64)
        longer[exists] = np.unique(pairs, axis=1, return_inverse=True)[1].ravel()
        paths[f"paths of {length} arcs"] = shorter = longer
    return paths


def _roles(tokens: Tokens, scheme: str) -> Ints:
    parse = NeutralParse.of(tokens, scheme)
    role, governor = parse.role.astype(np.int64), parse.governor.astype(np.int64)
    keys = (governor + 1) * len(Role) + role
    keys[np.isin(role, (Role.OTHER, Role.FUNCTION))] = -1
    return keys

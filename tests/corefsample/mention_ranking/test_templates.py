"""Templates: what they may say, and that the documentation says so too."""

from __future__ import annotations

import re
import zlib

import pytest

from corefsample import ParameterError
from corefsample.mention_ranking.features import _codes as codes
from corefsample.mention_ranking.features import _templates as module
from corefsample.mention_ranking.features._templates import DEFAULT_TEMPLATES, TemplateSet

GOOD = {"pronoun": ["i.any"], "phrase": ["pair.match"], "new": ["i.kind"]}


def documented(heading: str) -> list[str]:
    """Atoms that a section of the module's docstring names: what stands in brackets explains."""
    section = (module.__doc__ or "").split(f"{heading}\n")[1]
    lines = []
    for line in section.splitlines():
        if not line.startswith("    "):
            break
        lines.append(line)
    text = " ".join(lines).partition(" A head, lemma or word")[0]
    while "(" in text:
        text = re.sub(r"\([^()]*\)", "", text)
    return re.findall(r"[a-z_]+", text)


def test_the_documentation_lists_the_atoms_of_a_mention() -> None:
    assert documented("Atoms of a mention") == list(codes.ATOMS)


def test_the_documentation_lists_the_atoms_of_a_pair() -> None:
    assert set(documented("Atoms of a pair")) == set(codes.PAIR_ATOMS) - {"nothing"}


def test_a_template_is_compiled_to_places_and_a_seed() -> None:
    lists = TemplateSet(
        pronoun=["i.kind k.kind pair.sentences pair.match"],
        phrase=["pair.match"],
        new=["i.any", "i.any best.match", "best.near i.length"],
    )
    pronoun, phrase, new = lists.groups
    kind, any_, length = (codes.ATOMS.index(name) for name in ("kind", "any", "length"))
    assert pronoun.mention.tolist() == [[kind, -1, -1, -1]]
    assert pronoun.candidate.tolist() == [[kind, -1, -1, -1]]
    assert pronoun.pair.tolist() == [[codes.PairAtom.SENTENCES, codes.PairAtom.MATCH, 1]]
    assert phrase.pair.tolist() == [[codes.PairAtom.MATCH, 0, 1]]
    assert phrase.mention.tolist() == [[-1] * 4]
    assert new.mention[:, 0].tolist() == [any_, any_, length]
    assert new.best.tolist() == [0, 1, 2]
    assert pronoun.seeds.tolist() == [zlib.crc32(b"pronoun i.kind k.kind pair.sentences pair.match")]
    assert lists.n_templates == 5


def test_templates_with_factors_come_first_and_have_seeds_of_their_own() -> None:
    lines = ["i.any", "3* i.kind", "k.any", "16* pair.match", "1* k.kind", "3* pair.match"]
    compiled = TemplateSet(pronoun=lines, phrase=["i.any"], new=["i.any"]).groups[0]
    assert compiled.pair[:, 2].tolist() == [3, 16, 3, 1, 1, 1]
    order = [1, 3, 5, 0, 2, 4]  # the factors above 1 first, otherwise as written
    assert compiled.seeds.tolist() == [zlib.crc32(f"pronoun {lines[t]}".encode()) for t in order]
    match = codes.PairAtom.MATCH
    assert compiled.pair[:, 0].tolist() == [0, match, match, 0, 0, 0]


def test_blanks_do_not_matter() -> None:
    assert TemplateSet(["  i.any \t k.any"], ["pair.match"], ["i.any"]) == TemplateSet(
        ["i.any k.any"], ["pair.match"], ["i.any"]
    )


def test_the_same_template_has_its_own_weights_in_each_list() -> None:
    lists = TemplateSet(["i.any"], ["i.any"], ["i.any"])
    assert len({int(group.seeds[0]) for group in lists.groups}) == 3


def test_the_templates_that_ship_differ_and_are_all_read() -> None:
    for name in ("pronoun", "phrase", "new"):
        lines = getattr(DEFAULT_TEMPLATES, name)
        assert len(lines) == len(set(lines)) == len(set(DEFAULT_TEMPLATES.compiled(name).seeds.tolist()))
    assert DEFAULT_TEMPLATES.n_templates == sum(len(group.seeds) for group in DEFAULT_TEMPLATES.groups)


@pytest.mark.parametrize(
    ("name", "lines", "rule"),
    [
        ("pronoun", ["i.colour"], "be of known atoms, got "),
        ("phrase", ["pair.kind", "i.match", "pair.nothing"], "be of known atoms, got "),
        ("phrase", ["kind", "j.kind", "best.match"], "be of i., k. and pair. atoms, got "),
        ("new", ["k.kind", "pair.match", "best.far"], "be of i., k. and pair. atoms, got "),
        ("new", ["best.match best.near"], "have at most 1 best. atom, got "),
        ("pronoun", ["0*", "17*", "-2*", "1.5*", "*", "²*"], "have a whole factor from 1 to 16, got "),
        ("new", ["2*"], "have no factor, got "),
        ("pronoun", ["i.any i.kind i.head i.role i.link"], "have at most 4 i. atoms, got "),
        ("pronoun", ["pair.match pair.agree pair.quotes"], "have at most 2 pair. atoms, got "),
    ],
)
def test_a_template_that_cannot_be_read_is_rejected(name: str, lines: list[str], rule: str) -> None:
    for line in lines:
        with pytest.raises(ParameterError, match=f"^{re.escape(f'templates.{name}[1] must {rule}{line!r}')}$"):
            TemplateSet(**{**GOOD, name: [*GOOD[name], f"{line} i.any" if line.endswith("*") else line]})


@pytest.mark.parametrize("name", GOOD)
def test_a_list_without_templates_is_rejected(name: str) -> None:
    with pytest.raises(ParameterError, match=rf"^templates\.{name} is empty$"):
        TemplateSet(**{**GOOD, name: []})

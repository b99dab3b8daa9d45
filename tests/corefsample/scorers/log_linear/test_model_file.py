"""Model files: what is written comes back; other files raise an error of one line and run nothing."""

import io
import json
import math
import os
import pickle
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from expected_errors import error
from hypothesis import given, settings, strategies as st

from corefsample import InputError, ParameterError
from corefsample.languages._language import load_language
from corefsample.scorers import load_scorer
from corefsample.scorers.log_linear._encoding import TemplateSet, features_hash
from corefsample.scorers.log_linear._model import AntecedentModel, rounded

SMALL = TemplateSet(["i.pronoun k.agreement", "pair.match"], ["pair.match pair.sentences"], ["i.kind best.match"])
PROVENANCE = {"data": "tales, CC0 – écrit", "options": {"l2": 0.5, "costs": [0, 1.5]}, "held_out": None, "n": 3}


def model(bits: int = 10, **fields: Any) -> AntecedentModel:
    weights = rounded(np.random.default_rng(0).normal(0.0, 0.3, 1 << bits).astype(np.float32))
    content = {"weights": weights, "vocabulary": np.arange(5, 500, 7, dtype=np.uint32), "templates": SMALL}
    return AntecedentModel(**{**content, "provenance": PROVENANCE, **fields})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """A good model file."""
    model().save(tmp_path / "model.npz")
    return tmp_path / "model.npz"


def parts_of(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def rewrite(path: Path, parts: Mapping[str, bytes]) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def with_header(path: Path, **fields: Any) -> None:
    """Change fields of a header; None leaves one out."""
    parts = parts_of(path)
    header = {**json.loads(parts["header.json"]), **fields}
    remaining = {name: value for name, value in header.items() if value is not None}
    rewrite(path, {**parts, "header.json": json.dumps(remaining).encode()})


def npy(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def failure(path: Path) -> str:
    """The one line of the error for a file; it begins with the file's name."""
    with pytest.raises(InputError) as raised:
        load_scorer(path)
    text = str(raised.value)
    assert text.startswith(f"{path}: ")
    assert "\n" not in text
    return text.removeprefix(f"{path}: ")


def outcome(path: Path) -> str:
    """The error for a file, or nothing."""
    try:
        load_scorer(path)
    except InputError as caught:
        return str(caught)
    return ""


# --- what is written ---------------------------------------------------------------------------------------


def test_weights_on_the_grid_are_restored_exactly(path: Path) -> None:
    again, first = load_scorer(path), model()
    np.testing.assert_array_equal(again.weights, first.weights)
    np.testing.assert_array_equal(again.vocabulary, first.vocabulary)
    assert (again.weights.dtype, again.vocabulary.dtype) == (np.float32, np.uint32)
    assert (again.templates, again.provenance) == (SMALL, PROVENANCE)


def test_the_bytes_depend_only_on_the_model(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("time.time", lambda: 2e9)
    monkeypatch.setattr("sys.platform", "win32")
    other = path.parent / "another name.bin"
    model().save(other)
    assert other.read_bytes() == path.read_bytes()


def test_a_file_has_arrays_and_json_and_no_pickle(path: Path) -> None:
    parts = parts_of(path)
    assert list(parts) == ["header.json", "weights.npy", "vocabulary.npy"]
    assert np.load(path, allow_pickle=False)["weights"].dtype == np.int8
    header = json.loads(parts["header.json"])
    assert (header["format"], header["version"]) == ("corefsample antecedent model", 1)
    assert header["features"] == features_hash(load_language("en"))


def test_an_existing_file_is_replaced_only_on_request(path: Path) -> None:
    before = path.read_bytes()
    with error(ParameterError, None, "model.npz", hint="overwrite"):
        model(bits=4).save(path)
    assert path.read_bytes() == before
    model(bits=4).save(path, overwrite=True)
    assert load_scorer(path).weights.size == 16


@pytest.mark.parametrize("value", [math.nan, {1, 2}, b"x", np.float32(1)])
def test_a_provenance_that_json_cannot_represent_is_rejected(tmp_path: Path, value: object) -> None:
    with error(ParameterError, "provenance"):
        model(provenance={"x": value}).save(tmp_path / "m")
    assert not list(tmp_path.iterdir())


# --- invalid files -----------------------------------------------------------------------------------------


class _Bomb:
    """Unpickling it would leave a file."""

    def __init__(self, place: Path) -> None:
        self.place = place

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        return os.mkdir, (str(self.place),)


@pytest.mark.parametrize("name", ["weights.npy", "vocabulary.npy"])
def test_a_pickle_is_never_run(path: Path, name: str) -> None:
    place = path.parent / "ran"
    objects = np.array([_Bomb(place)], dtype=object)
    rewrite(path, {**parts_of(path), name: npy(objects, allow_pickle=True)})
    assert f"{name[:-4]} must be an .npy file, got: " in failure(path)
    rewrite(path, {**parts_of(path), name: pickle.dumps(_Bomb(place))})
    assert f"{name[:-4]} must be an .npy file, got: " in failure(path)
    assert not place.exists()


@pytest.mark.parametrize("content", [b"", b"not a zip", b"PK\x05\x06" + bytes(18)])
def test_other_files_are_rejected(path: Path, content: bytes) -> None:
    path.write_bytes(content)
    assert failure(path).startswith("must be a corefsample antecedent model, got ")


@pytest.mark.parametrize("name", ["header.json", "weights.npy", "vocabulary.npy"])
def test_a_file_without_a_part_is_rejected(path: Path, name: str) -> None:
    rewrite(path, {part: content for part, content in parts_of(path).items() if part != name})
    assert failure(path) == f"must be a corefsample antecedent model, got a zip file without {name}"


ONE_EACH = {"pronoun": ["i.any"], "phrase": ["i.any"], "new": ["i.any"]}


@pytest.mark.parametrize(
    ("field", "values", "message"),
    [
        ("format", ["something else", None], "must be a corefsample antecedent model, got another format"),
        ("version", [2, None, "1"], "version must be 1, got "),
        ("features", [7, None], "features must be those of this version of corefsample ("),
        (
            "templates",
            [None, {"pronoun": ["i.any"]}, ONE_EACH | {"pronoun": [1]}, ONE_EACH | {"pronoun": "i"}],
            "header.json must be that of a model, got: ",
        ),
        ("templates", [ONE_EACH | {"pronoun": []}], "templates.pronoun is empty"),
        ("templates", [ONE_EACH | {"pronoun": ["i.colour"]}], "templates.pronoun[0] must be a template of known atoms"),
        ("scale", [None, 0.0, -1.0, math.nan, math.inf, 1e39, "1"], "header.json must be that of a model, got: "),
        ("provenance", [None, ["x"]], "header.json must be that of a model, got: "),
    ],
)
def test_a_header_that_breaks_its_rules_is_rejected(path: Path, field: str, values: list[Any], message: str) -> None:
    good = path.read_bytes()
    for value in values:
        path.write_bytes(good)
        with_header(path, **{field: value})
        assert failure(path).startswith(message)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "header.json must be JSON, got: "),
        (b"[" * 100_000, "header.json must be JSON, got: "),
        (b"x" * ((1 << 22) + 1), "header.json must have at most 4194304 bytes, got 4194305"),
    ],
)
def test_a_header_that_is_no_object_is_rejected(path: Path, content: bytes, message: str) -> None:
    rewrite(path, {**parts_of(path), "header.json": content})
    assert failure(path).startswith(message)


def header_only(shape: str, descr: str = "'|i1'") -> bytes:
    text = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}".encode()
    padding = b" " * (63 - (10 + len(text)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text + padding).to_bytes(2, "little") + text + padding


@pytest.mark.parametrize(
    ("name", "contents", "message"),
    [
        (
            "weights",
            [npy(np.zeros(8, np.int16)), npy(np.zeros((2, 4), np.int8))],
            "must be int8 in one dimension, got ",
        ),
        ("weights", [npy(np.zeros(7, np.int8))], "must be as many as a power of two, "),
        (
            "weights",
            [
                *(npy(np.zeros(8, np.int8))[:-1], header_only("('a',)"), b"", header_only("(5,"), header_only("(-1,)")),
                *(header_only("(0,)", "__import__('os').getcwd()"), header_only("(5,)", "'''")),
                header_only("(1099511627776,)"),  # a terabyte that is not there
            ],
            "must be an .npy file, got: ",
        ),
        ("vocabulary", [npy(np.zeros(2, np.uint32))], "must ascend, got 0 after 0"),
        ("vocabulary", [npy(np.zeros(2, np.int64)), npy(np.zeros(2, ">u4"))], "must be uint32 in one dimension, got 1"),
    ],
)
def test_arrays_that_break_their_rules_are_rejected(path: Path, name: str, contents: list[bytes], message: str) -> None:
    parts = parts_of(path)
    for content in contents:
        rewrite(path, {**parts, f"{name}.npy": content})
        assert failure(path).startswith(f"{name} {message}")


def test_a_part_larger_than_any_model_is_rejected(path: Path) -> None:
    rewrite(path, {**parts_of(path), "weights.npy": bytes((1 << 22) + 1025)})
    assert failure(path) == "weights.npy must have at most 4195328 bytes, got 4195329"


@settings(max_examples=150)
@given(st.data())
def test_a_damaged_file_is_rejected_or_gives_the_same_model(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    if not path.exists():
        model(bits=5).save(path)
    whole = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 3))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    broken = path.with_name("broken.npz")
    broken.write_bytes(whole)
    if answer := outcome(broken):
        assert answer.startswith(f"{broken}: ")
        assert "\n" not in answer
    else:
        np.testing.assert_array_equal(load_scorer(broken).weights, model(bits=5).weights)

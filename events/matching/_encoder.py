"""Sentence encoders: transformers in ONNX files that give each word of a sentence, and the sentence, a vector."""

from __future__ import annotations

import os
from collections.abc import Sequence
from functools import cache
from pathlib import Path

import numpy as np

from corefsample._lazy import require_extra
from corefsample.errors import InputError
from corefsample.files._paths import PathLike
from corefsample.files._reading import sha256

EXTRA = "encoder"
_MOST_PIECES = 512  # of a sentence, if the tokenizer says nothing


def onnx_file(folder: PathLike) -> Path:
    """The ONNX file of an encoder: the first one by name in its folder, or in the folder's subfolder onnx.

    Raises
    ------
    InputError
        If the folder has no such file, or no tokenizer.json.
    """
    candidates = [path for part in ("", "onnx") for path in sorted((Path(folder) / part).glob("*.onnx"))]
    if not candidates or not (Path(folder) / "tokenizer.json").is_file():
        missing = "tokenizer.json" if candidates else "*.onnx"
        hint = "download the encoder's ONNX file and its tokenizer.json, or export them with optimum-cli"
        raise InputError(
            f"must be a folder with an ONNX file and a tokenizer.json, got no {missing}", place=str(folder), hint=hint
        )
    return candidates[0]


class SentenceEncoder:
    """An encoder in ONNX format with its tokenizer.

    Sentences are encoded one at a time on one thread, because padding changes the results of 8-bit models.

    Parameters
    ----------
    folder
        Folder with an ONNX file and a tokenizer.json.

    Raises
    ------
    ParameterError
        If onnxruntime or tokenizers is not installed.
    InputError
        If a file is missing, or cannot be read.
    """

    def __init__(self, folder: PathLike) -> None:
        runtime, tokenizers = (require_extra(name, name, EXTRA) for name in ("onnxruntime", "tokenizers"))
        path = onnx_file(folder)
        self.checksum = sha256(path)
        options = runtime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        try:
            self._tokenizer = tokenizers.Tokenizer.from_file(os.fspath(Path(folder) / "tokenizer.json"))
            self._session = runtime.InferenceSession(os.fspath(path), options, providers=["CPUExecutionProvider"])
        except Exception as error:  # both libraries raise exceptions of their own
            raise InputError(f"cannot be read as an encoder: {error}", place=str(path)) from None
        self._tokenizer.no_padding()
        if self._tokenizer.truncation is None:
            self._tokenizer.enable_truncation(_MOST_PIECES)
        self._inputs = [each.name for each in self._session.get_inputs()]

    def vectors(self, words: Sequence[str]) -> np.typing.NDArray[np.float32]:
        """Vectors of the words of a sentence, each followed by the vector of the sentence.

        Parameters
        ----------
        words
            Words of the sentence, which are joined by blanks.

        Returns
        -------
        array of shape (n_words, 2 * n_dimensions), float32
            The mean of the last layer over the pieces of a word, and over all pieces of the sentence, both of unit
            length; 0 for a word beyond the length at which the tokenizer truncates.
        """
        encoding = self._tokenizer.encode(" ".join(words))
        ids = np.array([encoding.ids], np.int64)
        values = {"input_ids": ids, "attention_mask": np.ones_like(ids), "token_type_ids": np.zeros_like(ids)}
        (layer,), *_ = self._session.run(None, {name: values[name] for name in self._inputs})
        starts, ends = np.array(encoding.offsets).T
        word_ends = np.cumsum([len(word) + 1 for word in words]) - 1
        word_starts = word_ends - [len(word) for word in words]
        is_of_word = (starts < word_ends[:, None]) & (ends > word_starts[:, None]) & (ends > starts)
        halves = is_of_word @ layer, np.broadcast_to(layer.sum(axis=0), (len(words), layer.shape[1]))
        lengths = (np.maximum(np.linalg.norm(half, axis=1, keepdims=True), 1e-12) for half in halves)
        vectors = [half / length for half, length in zip(halves, lengths, strict=True)]
        return np.concatenate(vectors, axis=1).astype(np.float32)


@cache
def load_encoder(folder: str) -> SentenceEncoder:
    """Load an encoder, once for a process; raises ParameterError or InputError as `SentenceEncoder` does."""
    return SentenceEncoder(folder)

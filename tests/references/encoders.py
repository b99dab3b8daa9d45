"""A tiny encoder in an ONNX file, which is written byte by byte."""

from pathlib import Path

import numpy as np

PIECES = ["[UNK]", "gun", "##men", "fired", "at", "a", "ship", "##s"]


def message(*fields: tuple[int, bytes | str | int]) -> bytes:
    """A message of protocol buffers, whose integers are below 128."""
    parts = []
    for number, value in fields:
        content = value.encode() if isinstance(value, str) else value
        parts.append(bytes([number << 3, content]) if isinstance(content, int) else b"")
        if not isinstance(content, int):
            length = len(content)
            size = bytes([length]) if length < 128 else bytes([length & 127 | 128, length >> 7])
            parts.append(bytes([number << 3 | 2]) + size + content)
    return b"".join(parts)


def tensor(name: str, kind: int, *sizes: str) -> bytes:
    shape = message(*((1, message((2, size))) for size in sizes))
    return message((1, name), (2, message((1, message((1, kind), (2, shape))))))


def write_encoder(folder: Path, table: np.typing.NDArray[np.float32], *, longest: int = 100) -> Path:
    """An encoder whose last layer is a row of a table for each piece."""
    initial = message((1, len(table)), (1, table.shape[1]), (2, 1), (8, "table"), (9, table.tobytes()))
    node = message((1, "table"), (1, "input_ids"), (2, "layer"), (4, "Gather"))
    graph = [(1, node), (2, "g"), (5, initial), (11, tensor("input_ids", 7, "b", "s"))]
    graph.append((12, tensor("layer", 1, "b", "s", "d")))
    content = message((1, 8), (7, message(*graph)), (8, message((1, ""), (2, 13))))
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(content)
    import tokenizers

    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordPiece({piece: k for k, piece in enumerate(PIECES)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.enable_truncation(longest)
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder

"""The overview of the gallery, made from the executed notebooks: title, first sentences and first picture of each."""

from __future__ import annotations

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

from PIL import Image

WIDTH = 240  # pixels
OVERVIEW = "overview.md"

__all__ = ["write_overview"]


def _first_picture(cells: list[dict[str, Any]]) -> Image.Image | None:
    for cell in cells:
        for output in cell.get("outputs", ()):
            if (encoded := output.get("data", {}).get("image/png")) is not None:
                return Image.open(io.BytesIO(base64.b64decode("".join(encoded))))
    return None


def _complete(paragraph: str) -> str:
    """The complete sentences of a paragraph, without a list at its end."""
    text = " ".join(re.split(r"\n(?:- |1\. )", paragraph)[0].split())
    found = re.match(r".*[.?!](?=\s|$)", text)
    return found[0] if found else ""


def _row(path: Path, folder: Path) -> str:
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    title, *paragraphs = "".join(cells[0]["source"]).split("\n\n")
    title = title.removeprefix("# ").strip()
    about = _complete(paragraphs[0]) if paragraphs else ""
    picture = ""
    if (image := _first_picture(cells)) is not None:
        small = image.convert("RGB")
        small.thumbnail((WIDTH, 2 * WIDTH))
        small.save(folder / f"{path.stem}.png")
        picture = f"[![]({folder.name}/{path.stem}.png)]({path.name})"
    download = f"{{download}}`Download the notebook <{path.name}>`"
    return f"* - {picture}\n  - **[{title}]({path.name})**\n\n    {about}\n\n    {download}"


def write_overview(gallery: Path) -> None:
    """Write the table that the gallery's page includes, and the small pictures in it."""
    folder = gallery / "thumbnails"
    folder.mkdir(exist_ok=True)
    rows = [_row(path, folder) for path in sorted(gallery.glob("[0-9]*.ipynb"))]
    (gallery / OVERVIEW).write_text(
        "\n".join(["```{list-table}", ":widths: 30 70", "", *rows, "```", ""]), encoding="utf-8"
    )

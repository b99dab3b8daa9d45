"""Data inside a page: JSON that cannot end its element, and packed JSON."""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup


def embedded_json(content: object) -> Markup:
    r"""Return JSON that is safe inside a script element of HTML.

    It cannot end the element or begin a comment: <, > and & are written as \u003c, \u003e, \u0026, and so are the two
    line separators that older versions of JavaScript reject in strings.

    Examples
    --------
    >>> print(embedded_json("</script>&\u2028"))
    "\u003c/script\u003e\u0026\u2028"
    """
    from markupsafe import Markup

    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return Markup(text.translate({ord(letter): f"\\u{ord(letter):04x}" for letter in "<>&\u2028\u2029"}))


def packed(content: object) -> str:
    """JSON, deflated without a header, in base64; `inflated` of static/elements.js unpacks it."""
    compressor = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    plain = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return base64.b64encode(compressor.compress(plain) + compressor.flush()).decode("ascii")


def packed_parts(contents: Sequence[object], per_part: int) -> list[str]:
    """Pack a list in parts of this many elements, of which a page unpacks those that it needs."""
    return [packed(contents[start : start + per_part]) for start in range(0, len(contents), per_part)]

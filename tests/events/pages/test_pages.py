"""Scripts, styles and embedded data of every page."""

import json
from typing import Any

from hypothesis import given, strategies as st
from report_pages import unpacked

from events.pages._rendering import embedded_json, packed_parts

# --- embedded data -----------------------------------------------------------------------------------------

json_text = st.text() | st.sampled_from(["</script>", "<!--", "&lt;", "\u2028", "\u2029", "]]>"])


@given(st.recursive(json_text | st.integers() | st.booleans(), lambda x: st.lists(x) | st.dictionaries(json_text, x)))
def test_embedded_json_can_be_read_back_and_cannot_end_its_element(content: Any) -> None:
    text = str(embedded_json(content))
    assert json.loads(text) == content
    assert not set(text) & set("<>&\u2028\u2029")


@given(st.lists(json_text, max_size=9), st.integers(1, 4))
def test_packed_parts_have_all_contents_in_order(contents: list[str], per_part: int) -> None:
    parts = packed_parts(contents, per_part)
    read = [unpacked(part) for part in parts]
    assert [each for part in read for each in part] == [text.encode("utf-8", "replace").decode() for text in contents]
    assert all(len(part) == per_part for part in read[:-1])

"""Conditions on the documents that are used."""

from typing import Any

import pytest

from events._options import Selection


@pytest.mark.parametrize(
    ("conditions", "doc_id", "metadata", "included"),
    [
        ([], "a", {}, True),
        (["genre=news"], "a", {"genre": "news"}, True),
        (["genre=news"], "a", {"genre": "newspaper"}, False),
        (["genre=news*"], "a", {"genre": "newspaper"}, True),
        (["genre=court, news"], "a", {"genre": "news"}, True),
        (["genre=news"], "a", {}, False),
        (["meta::genre=news"], "a", {"genre": "news"}, True),
        (["date=2001-*"], "a", {"meta::date": "2001-02-03"}, True),
        (["year=2001"], "a", {"year": 2001}, True),
        (["doc_id=GUM_news_*,GUM_bio_?"], "GUM_bio_2", {}, True),
        (["doc_id=GUM_news_*,GUM_bio_?"], "GUM_bio_22", {}, False),
        (["doc_id=a"], "A", {}, False),
        (["genre=news", "doc_id=b*"], "b1", {"genre": "news"}, True),
        (["genre=news", "doc_id=b*"], "a1", {"genre": "news"}, False),
        (["url=x=1"], "a", {"url": "x=1"}, True),
        (["desk=For*"], "a", {"desk": ["Metro", "Foreign"]}, True),
        (["desk=For*"], "a", {"desk": []}, False),
    ],
)
def test_conditions_of_documents(conditions: list[str], doc_id: str, metadata: dict[str, Any], included: bool) -> None:
    assert Selection(conditions).includes(doc_id, metadata) is included

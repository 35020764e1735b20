"""The RSP-QL texts that RSP4J ships: all of them parse. One selects what SPARQL forbids, and cannot be registered."""

from __future__ import annotations

import pytest

import spectra
from spectra.errors import QueryError
from spectra.sparql import parse_query
from spectra.sparql.query import OutputOperator
from tests.data import data_path

pytestmark = pytest.mark.data

#: What is not SPARQL 1.1, by the file's name, and what we say of it.
FORBIDDEN = {"q12.rspql": r"\?p is neither in GROUP BY nor inside an aggregate"}


def test_all_texts() -> None:
    texts = sorted(data_path("rsp", "rsp4j").rglob("*.rspql"))
    assert len(texts) == 24
    for path in texts:
        text = path.read_text(encoding="utf-8")
        query = parse_query(text, source=path.name)
        assert query.output is OutputOperator.RSTREAM, path.name
        assert len(query.windows) == text.count("FROM NAMED WINDOW"), path.name
        assert query.name in ("out", "s1") or query.name == path.stem, path.name
        if path.name in FORBIDDEN:
            with pytest.raises(QueryError, match=FORBIDDEN[path.name]) as caught:
                spectra.Engine().register(query)
            assert caught.value.place is not None
            assert caught.value.hint == "Add ?p to GROUP BY, or write SAMPLE(?p)."

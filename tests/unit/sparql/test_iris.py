"""Relative IRIs: RFC 3986, section 5.4, and schemes that are not the web's."""

from __future__ import annotations

import pytest

from spectra.sparql.iris import resolve

BASE = "http://a/b/c/d;p?q"


@pytest.mark.parametrize(
    ("reference", "result"),
    [
        ("g:h", "g:h"),
        ("g", "http://a/b/c/g"),
        ("./g", "http://a/b/c/g"),
        ("g/", "http://a/b/c/g/"),
        ("/g", "http://a/g"),
        ("//g", "http://g"),
        ("?y", "http://a/b/c/d;p?y"),
        ("g?y", "http://a/b/c/g?y"),
        ("#s", "http://a/b/c/d;p?q#s"),
        ("g#s", "http://a/b/c/g#s"),
        (";x", "http://a/b/c/;x"),
        ("", "http://a/b/c/d;p?q"),
        (".", "http://a/b/c/"),
        ("..", "http://a/b/"),
        ("../g", "http://a/b/g"),
        ("../..", "http://a/"),
        ("../../g", "http://a/g"),
        ("../../../g", "http://a/g"),
        ("/./g", "http://a/g"),
        ("g.", "http://a/b/c/g."),
        ("./g/.", "http://a/b/c/g/"),
        ("g;x=1/../y", "http://a/b/c/y"),
        ("g?y/../x", "http://a/b/c/g?y/../x"),
    ],
)
def test_rfc_examples(reference: str, result: str) -> None:
    assert resolve(reference, BASE) == result


@pytest.mark.parametrize(
    ("reference", "base", "result"),
    [
        ("w1", None, "w1"),
        ("x", "http://e", "http://e/x"),
        ("x", "urn:a:b", "urn:x"),
        ("#x", "urn:a:b", "urn:a:b#x"),
        ("b", "ex://host/a", "ex://host/b"),
        ("1:b", "http://e/", "http://e/1:b"),
    ],
)
def test_other_bases(reference: str, base: str | None, result: str) -> None:
    assert resolve(reference, base) == result

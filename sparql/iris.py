"""Relative IRIs against a base, as RFC 3986 section 5.2 has it, whatever the scheme."""

from __future__ import annotations

import re

_PARTS = re.compile(r"(?:([^:/?#]+):)?(?://([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?", re.DOTALL)
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.\-]*:")


def is_absolute(iri: str) -> bool:
    return _SCHEME.match(iri) is not None


def resolve(reference: str, base: str | None) -> str:
    """The IRI that `reference` means under `base`; without a base, the reference as written.

    Examples
    --------
    >>> resolve("../b", "http://example.org/x/y/z")
    'http://example.org/x/b'
    """
    if base is None or is_absolute(reference):
        return reference
    base_scheme, base_authority, base_path, base_query, _ = _split(base)
    _, authority, path, query, fragment = _split(reference)
    if authority is not None:
        path = _without_dots(path)
    else:
        authority = base_authority
        if not path:
            path = base_path
            query = base_query if query is None else query
        elif path.startswith("/"):
            path = _without_dots(path)
        elif base_authority is not None and not base_path:
            path = _without_dots("/" + path)
        else:
            path = _without_dots(base_path[: base_path.rfind("/") + 1] + path)
    result = "" if base_scheme is None else f"{base_scheme}:"
    result += "" if authority is None else f"//{authority}"
    result += path
    result += "" if query is None else f"?{query}"
    return result + ("" if fragment is None else f"#{fragment}")


def _split(iri: str) -> tuple[str | None, str | None, str, str | None, str | None]:
    match = _PARTS.match(iri)
    assert match is not None
    scheme, authority, path, query, fragment = match.groups()
    if scheme is not None and not is_absolute(iri):  # "1:b" is a relative path
        return None, None, f"{scheme}:{path}", query, fragment
    return scheme, authority, path, query, fragment


def _without_dots(path: str) -> str:
    kept: list[str] = []
    segments = path.split("/")
    for index, segment in enumerate(segments):
        last = index == len(segments) - 1
        if segment == ".":
            if last:
                kept.append("")
        elif segment == "..":
            if len(kept) > 1 or (kept and kept[0] != ""):
                kept.pop()
            if last:
                kept.append("")
        else:
            kept.append(segment)
    return "/".join(kept)

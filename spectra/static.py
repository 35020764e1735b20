"""Static data: the files that FROM and FROM NAMED name, as canonical triples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from spectra.dictionary.terms import canonical
from spectra.errors import QueryError, StreamError

Triple = tuple[str, str, str]


def load_static(iri: str, folder: Path, given: Mapping[str, Any]) -> list[Triple]:
    """The triples of a static graph: what the caller gave under its IRI, or the file that the IRI names.

    A relative IRI is a path from `folder`. Nothing is ever fetched from the network.
    """
    if iri in given:
        data = given[iri]
        if isinstance(data, (str, Path)):
            return _read(Path(data), iri)
        return [_triple(triple) for triple in data]
    parts = urlparse(iri)
    if parts.scheme == "file":
        return _read(Path(unquote(parts.path)), iri)
    if parts.scheme and len(parts.scheme) > 1:
        raise QueryError(
            f"no data for the static graph <{iri}>",
            detail="Spectra opens no connections.",
            hint="Name a file (FROM <people.ttl>), or pass its triples: register(…, static={iri: triples}).",
        )
    return _read(folder / unquote(iri), iri)


def _triple(triple: Any) -> Triple:
    subject, predicate, object_ = (canonical(term)[0] for term in triple)
    return subject, predicate, object_


def _read(path: Path, iri: str) -> list[Triple]:
    import pyoxigraph

    format_ = pyoxigraph.RdfFormat.from_extension(path.suffix.lstrip("."))
    if format_ is None:
        raise QueryError(
            f"cannot tell the format of the static file {path.name}",
            hint="Use an ending such as .ttl, .nt, .rdf, .jsonld or .trig.",
        )
    try:
        # blank nodes get labels of their own, so that two files never share one
        quads = pyoxigraph.parse(
            path=str(path), format=format_, base_iri=path.resolve().as_uri(), rename_blank_nodes=True
        )
        return [_triple((quad.subject, quad.predicate, quad.object)) for quad in quads]
    except FileNotFoundError:
        raise QueryError(f"the static file {path} of FROM <{iri}> does not exist") from None
    except SyntaxError as error:
        raise StreamError(f"the static file {path} is not readable", detail=str(error)) from None
    except OSError as error:
        raise QueryError(f"the static file {path} of FROM <{iri}> cannot be read", detail=str(error)) from None

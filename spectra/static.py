"""Static data: the files that FROM and FROM NAMED name, as batches of what a query can use of them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from io import BytesIO
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

import numpy as np

from spectra.errors import Place, QueryError, StreamError
from spectra.streams.distinct import pruned
from spectra.streams.files import InputFile
from spectra.streams.kernels.statements import TRIPLES
from spectra.streams.memory import from_triples
from spectra.streams.quarantine import Quarantine
from spectra.streams.reading import Reading, buffer_of
from spectra.streams.scanner import Scan, Scanner, Segment
from spectra.views.batch import EventBatch
from spectra.views.summary import Summary

Triple = tuple[str, str, str]

#: So many statements of a file in another format than N-Triples are put into text at once.
_STATEMENTS = 50_000

#: Where a text may be cut into pieces, in triples.
_CUT = 1024


def load_static(iri: str, folder: Path, given: Mapping[str, Any]) -> list[Triple]:
    """All triples of a static graph, as canonical texts."""
    triples: list[Triple] = []
    for batch in read_static(iri, folder, given, Summary.everything()):
        octets = batch.text.tobytes()
        spans = zip(batch.start.ravel().tolist(), batch.length.ravel().tolist(), strict=True)
        texts = [octets[start : start + length].decode() for start, length in spans]
        triples += zip(texts[0::3], texts[1::3], texts[2::3], strict=True)
    return triples


def read_static(iri: str, folder: Path, given: Mapping[str, Any], summary: Summary) -> Iterator[EventBatch]:
    """What a summary keeps of a static graph: of what the caller gave under its IRI, or of the file that the IRI names.

    A relative IRI is a path from `folder`. Nothing is ever fetched from the network.
    """
    if iri not in given:
        return _read(_path(iri, folder), iri, summary)
    data = given[iri]
    if isinstance(data, (str, Path)):
        return _read(Path(data), iri, summary)
    return iter([pruned(from_triples("", 0, data, ()), summary)])


def _path(iri: str, folder: Path) -> Path:
    parts = urlparse(iri)
    if parts.scheme == "file":
        return Path(unquote(parts.path))
    if parts.scheme and len(parts.scheme) > 1:
        raise QueryError(
            f"no data for the static graph <{iri}>",
            detail="Spectra opens no connections.",
            hint="Name a file (FROM <people.ttl>), or pass its triples: register(…, static={iri: triples}).",
        )
    return folder / unquote(iri)


def _read(path: Path, iri: str, summary: Summary) -> Iterator[EventBatch]:
    # its name is what the labels of blank nodes are told apart by, and no file of a stream has one like it
    file = InputFile(path.resolve().as_uri(), path)
    scanner = Scanner(TRIPLES, summary, validate=True, event_size=_CUT)
    reading = Reading("", Quarantine(strict=True))
    try:
        path.open("rb").close()
        scans = reading.scans(file, scanner) if file.form == "nt" else _converted(file, scanner)
        for scan in scans:
            events = len(scan.tables.event)
            yield reading.batch(scan, np.zeros(events, np.int64), place=[])
    except FileNotFoundError:
        raise QueryError(f"the static file {path} of FROM <{iri}> does not exist") from None
    except SyntaxError as error:
        raise StreamError(f"the static file {path} is not readable", detail=str(error)) from None
    except StreamError as error:
        place = error.place and Place(error.place.line, error.place.column, source=str(path))
        raise StreamError(
            f"the static file {path} is not readable", place=place, detail=f"{error.message}: {error.detail}"
        ) from None
    except OSError as error:
        raise QueryError(f"the static file {path} of FROM <{iri}> cannot be read", detail=str(error)) from None


def _converted(file: InputFile, scanner: Scanner) -> Iterator[Scan]:
    """The statements of a file in any format, turned into N-Triples and scanned."""
    import pyoxigraph

    format_ = pyoxigraph.RdfFormat.from_extension(file.path.suffix.lstrip("."))
    if format_ is None:
        raise QueryError(
            f"cannot tell the format of the static file {file.path.name}",
            hint="Use an ending such as .ttl, .nt, .nt.gz, .nq, .rdf, .jsonld or .trig.",
        )
    quads = pyoxigraph.parse(path=str(file.path), format=format_, base_iri=file.name)
    while statements := [quad.triple for quad in islice(quads, _STATEMENTS)]:
        lines = BytesIO()
        pyoxigraph.serialize(statements, lines, pyoxigraph.RdfFormat.N_TRIPLES)
        text = lines.getvalue()
        scan = scanner.scan(buffer_of(text, len(text)), [Segment(len(text), file.scope)])
        for bad in scan.bad_lines():
            raise StreamError(bad.reason, detail=bad.text.decode(errors="replace"))
        yield scan

"""Streams and changes as short texts: `1 ann pays bob | 3 -bob pays cat` and `1 +ann bob`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import spectra
from spectra.changes import Change
from spectra.streams.memory import concatenate, from_triples

STREAM = "urn:stream"

Triple = tuple[str, str, str]


class Event(NamedTuple):
    time: int
    added: list[Triple]
    deleted: list[Triple]


def triple(text: str) -> Triple:
    subject, predicate, object_ = (f"<urn:{part}>" for part in text.split())
    return subject, predicate, object_


def seconds(text: str) -> int:
    return round(float(text) * 1000)


def events(text: str) -> list[Event]:
    """Events by second, each its triples; those with a minus are deleted, before the others arrive."""
    found = []
    for part in text.split("|"):
        time, _, rest = part.strip().partition(" ")
        changes = [change.strip() for change in rest.split(",") if change.strip()]
        added = [triple(change) for change in changes if not change.startswith("-")]
        deleted = [triple(change[1:]) for change in changes if change.startswith("-")]
        found.append(Event(seconds(time), added, deleted))
    return found


def query(window: str, pattern: str = "?x <urn:pays>+ ?y", output: str = "CHANGES", select: str = "SELECT *") -> str:
    return (
        f"REGISTER {output} <urn:{output.lower()}> AS {select} FROM NAMED WINDOW <urn:w> ON <{STREAM}> [{window}] "
        f"WHERE {{ WINDOW <urn:w> {{ {pattern} }} }}"
    )


def shown(changes: Iterable[Change], *, until: bool = False) -> list[str]:
    """`1 +ann bob` for each change, with ` until 10` where asked for; sorted within an instant."""
    found = []
    for change in changes:
        if change.boolean is not None:
            row = str(change.boolean).lower()
        elif change.triple is not None:
            row = " ".join(text[5:-1] for text in change.triple)
        else:
            row = " ".join(str(change.bindings[name])[4:] for name in sorted(change.bindings))
        tail = f" until {_in_seconds(change.until.milliseconds)}" if until and change.until is not None else ""
        found.append((change.at.milliseconds, f"{_in_seconds(change.at.milliseconds)} {change.op}{row}{tail}"))
    times = [time for time, _ in found]
    assert times == sorted(times), "instants come in order"
    return [text for _, text in sorted(found)]


def _in_seconds(time: int) -> str:
    return f"{time / 1000:g}"


def deltas(text: str) -> list[str]:
    """What `shown` gives for `1 +ann bob | 3 +ann cat, +bob cat`."""
    found = []
    for part in text.split("|"):
        time, _, rest = part.strip().partition(" ")
        found += sorted(f"{time} {change.strip()}" for change in rest.split(",") if change.strip())
    return found


def batch(stream: str, given: list[Event]):
    return concatenate([from_triples(stream, event.time, event.added, event.deleted) for event in given])


def run(text: str, stream: str, *, how: str = "one batch", drain: bool = True, until: bool = False) -> list[str]:
    """What a query tells of a stream, given in one batch, in a batch per event, or pushed."""
    engine = spectra.Engine()
    engine.register(text)
    given = events(stream)
    if how == "one batch":
        return shown(engine.run([batch(STREAM, given)], drain=drain), until=until)
    if how == "a batch per event":
        return shown(engine.run([batch(STREAM, [event]) for event in given], drain=drain), until=until)
    changes = []
    for event in given:
        changes += engine.push(event.added, deleted=event.deleted, at=event.time, stream=STREAM)
    changes += [change for told in (engine.drain() if drain else engine.finish()) for change in told]
    return shown(changes, until=until)

"""What is known of the edges of a graph, label by label: rate, validity, distinct subjects and objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from functools import lru_cache
from math import exp, inf, isfinite
from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.errors import QueryError
from spectra.views.view import WindowViews


@dataclass(frozen=True, slots=True)
class LabelStatistics:
    """The edges of one label: how many arrive per second, and how many seconds each is valid (`r` and `v`).

    `live` is how many are there at an instant, which is rate · validity unless they are static. Distinct subjects,
    objects and `terms` (either of them) are those of the live edges; without `terms`, one has those of the other.
    `met_subjects` says how often two edges meet: as if all subjects were so many equally frequent ones. Some that are
    frequent make it less than there are. Likewise two objects, and the object of one edge and the subject of another
    (`met_terms`); infinite where nothing is known or none meet.
    """

    rate: float
    validity: float
    subjects: float
    objects: float
    live: float
    terms: float = 0.0
    met_subjects: float = inf
    met_objects: float = inf
    met_terms: float = inf

    def __post_init__(self) -> None:
        if not self.terms:
            object.__setattr__(self, "terms", max(self.subjects, self.objects))

    @classmethod
    def of(cls, rate: float, validity: float, subjects: float, objects: float) -> LabelStatistics:
        """Edges in a steady state."""
        live = rate * validity
        return cls(rate, validity, min(subjects, live), min(objects, live), live)

    @property
    def fan_out(self) -> float:
        """Edges of a subject that has any."""
        return self.live / max(self.subjects, 1)

    @property
    def fan_in(self) -> float:
        """Edges of an object that has any."""
        return self.live / max(self.objects, 1)

    def shown(self) -> dict[str, float]:
        """The figures with their names, rounded; without the validity of what does not end."""
        figures = {**asdict(self), "fan_out": self.fan_out, "fan_in": self.fan_in}
        figures = {name: value for name, value in figures.items() if not name.startswith("met_") or isfinite(value)}
        return {name: round(value, 3) for name, value in figures.items() if isfinite(value)}


#: By canonical text of the predicate; `ALL` has all edges together.
GraphStatistics = Mapping[str, LabelStatistics]

#: By stream, or by the IRI of a static graph.
Statistics = Mapping[str, GraphStatistics]

#: Stands for all labels; its subjects and objects are those that any label has.
ALL = ""

#: A window whose oldest edge has been there for this part of its validity is full.
_FULL = 0.75

#: Where hardly a value comes twice, there are at most so many times as many as are seen.
_MOST_UNSEEN = 4.0

#: So many pairs of edges that meet say how often they do.
_LEAST_MEETING = 30

NO_EDGES = LabelStatistics(0.0, inf, 0.0, 0.0, 0.0)


def all_edges(graph: GraphStatistics) -> LabelStatistics:
    """The edges of all labels together; where that is not known, as if labels had the same subjects and objects."""
    if ALL in graph:
        return graph[ALL]
    labels = list(graph.values())
    if not labels:
        return NO_EDGES
    live, rate = sum(label.live for label in labels), sum(label.rate for label in labels)
    return LabelStatistics(
        rate=rate,
        validity=live / rate if rate else inf,
        subjects=max(label.subjects for label in labels),
        objects=max(label.objects for label in labels),
        live=live,
        terms=max(label.terms for label in labels),
    )


@lru_cache(4096)
def domain(distinct: float, draws: float) -> float:
    """How many values there are to draw from, where so many draws have met so many distinct ones.

    The fewer of them come again, the more have not been seen yet.
    """
    if distinct <= 0 or draws <= 0:
        return max(distinct, 1.0)
    low, high = distinct, _MOST_UNSEEN * distinct
    for _ in range(30):
        middle = (low + high) / 2
        if middle * (1 - exp(-draws / middle)) < distinct:
            low = middle
        else:
            high = middle
    return max(low, 1.0)


def measured(
    views: WindowViews, now: int, texts: Callable[[NDArray[np.int32]], list[str]]
) -> dict[str, LabelStatistics]:
    """The statistics of what a window holds at a time.

    By Little's law the rate follows from how many edges there are and how long they stay; a window that is not full
    yet is taken to fill as it did so far. What is static has no rate.
    """
    rows = views.rows()
    predicates, label_of = np.unique(views.columns.predicate[rows], return_inverse=True)
    found = {ALL: _of_rows(views, rows, now)}
    for number, text in enumerate(texts(predicates)):
        found[text] = _of_rows(views, rows[label_of == number], now)
    return found


def edges_by_label(views: WindowViews, texts: Callable[[NDArray[np.int32]], list[str]]) -> dict[str, int]:
    """How many edges of each label a window holds; much less work than to measure it."""
    counts = np.bincount(views.columns.predicate[views.rows()])
    labels = np.flatnonzero(counts)
    return dict(zip(texts(labels.astype(np.int32)), counts[labels].tolist(), strict=True))


def _of_rows(views: WindowViews, rows: NDArray[np.int64], now: int) -> LabelStatistics:
    columns = views.columns
    moving = rows[columns.valid_to[rows] < FOREVER]
    validity, rate = inf, 0.0
    if len(moving):
        arrived = columns.valid_from[moving]
        span = max(now - int(arrived.min()), 1) / 1000
        validity = span if views.counting else float(np.mean(columns.valid_to[moving] - arrived)) / 1000
        rate = len(moving) / (validity if span > _FULL * validity else span)
    subjects, of_subject = np.unique(columns.subject[rows], return_counts=True)
    objects, of_object = np.unique(columns.object[rows], return_counts=True)
    both, one, other = np.intersect1d(subjects, objects, assume_unique=True, return_indices=True)
    terms = len(subjects) + len(objects) - len(both)
    edges = float(len(rows))
    return LabelStatistics(
        rate,
        validity,
        float(len(subjects)),
        float(len(objects)),
        edges,
        float(terms),
        met_subjects=_met(edges * (edges - 1), float((of_subject * (of_subject - 1.0)).sum())),
        met_objects=_met(edges * (edges - 1), float((of_object * (of_object - 1.0)).sum())),
        met_terms=_met(edges * edges, float((of_subject[one] * of_object[other].astype(float)).sum())),
    )


def _met(pairs: float, meeting: float) -> float:
    """Of how many equally frequent values so many pairs would be equal; infinite where too few are to tell."""
    return pairs / meeting if meeting >= _LEAST_MEETING else inf


def statistics_from(given: Any) -> dict[str, dict[str, LabelStatistics]]:
    """Statistics from what JSON has of them: `{stream: {predicate: {"rate", "validity", "subjects", "objects"}}}`.

    `live` may be given too, otherwise it is rate · validity, and with it `terms`.
    """
    try:
        return {
            stream: {label: _label_from(figures) for label, figures in labels.items()}
            for stream, labels in given.items()
        }
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise QueryError(
            "statistics are rate, validity, subjects and objects for each predicate of each stream",
            detail=f"{type(error).__name__}: {error}",
            hint='Write {"stream": {"<predicate>": {"rate": 10, "validity": 60, "subjects": 100, "objects": 100}}}.',
        ) from None


def _label_from(figures: Mapping[str, Any]) -> LabelStatistics:
    rate, subjects, objects = (float(figures[name]) for name in ("rate", "subjects", "objects"))
    validity = float(figures["validity"] if rate else figures.get("validity", inf))
    if "live" in figures:
        terms = float(figures.get("terms", 0.0))
        met = {name: float(figures[name]) for name in ("met_subjects", "met_objects", "met_terms") if name in figures}
        return LabelStatistics(rate, validity, subjects, objects, float(figures["live"]), terms, **met)
    return LabelStatistics.of(rate, validity, subjects, objects)

"""Composition: what a CONSTRUCT query tells, as a stream that other queries read."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from spectra.clock import FOREVER
from spectra.operators.coalesce import coalesced
from spectra.operators.contract import Deltas
from spectra.report import Told
from spectra.sparql.query import ContinuousQuery, OutputOperator, Policy


@dataclass(slots=True)
class DerivedTriples:
    """Triples that enter an answer, get another end in it, or leave it, in time order; `change` is as in `coalesced`.

    `until` is the end of the derivation: `FOREVER` where only a later change will tell.
    """

    triples: NDArray[np.int32]
    change: NDArray[np.int8]
    at: NDArray[np.int64]
    until: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.at)

    def take(self, chosen: NDArray[np.int64] | NDArray[np.bool_]) -> DerivedTriples:
        return DerivedTriples(self.triples[chosen], self.change[chosen], self.at[chosen], self.until[chosen])


def derived_triples(query: ContinuousQuery, deltas: Deltas, net: Told, told: Told) -> DerivedTriples:
    """What a CONSTRUCT query adds to its stream: deltas of its operator, net changes and what it tells of them.

    A triple is there from when it enters the answer until it leaves it, whether ISTREAM or CHANGES tells so. Where
    answers are told as they change, the ends of derivations are known beforehand. RSTREAM and DSTREAM are streams of
    what they tell, each triple of which arrives; so is a query that matches each event by itself.
    """
    if query.output in (OutputOperator.RSTREAM, OutputOperator.DSTREAM) or query.by_event:
        return DerivedTriples(told.rows, np.ones(len(told.at), np.int8), told.at, np.full(len(told.at), FOREVER))
    if query.report.policy is Policy.ON_CONTENT_CHANGE:
        return _with_ends(deltas)
    return DerivedTriples(net.rows, net.op, net.at, np.full(len(net.at), FOREVER))


def _with_ends(deltas: Deltas) -> DerivedTriples:
    """One change for each triple and instant: what the last of its deltas leaves behind."""
    change, last = coalesced(deltas)
    return DerivedTriples(last.rows, change, last.at, last.until)

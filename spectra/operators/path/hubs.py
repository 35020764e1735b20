"""Hubs of PATH by columns: making, growing and choosing them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from spectra.automata import Dfa
from spectra.operators.kernels.hubs import HUBS, HubColumns
from spectra.operators.path.tables import grown

#: So many product nodes of a state are tried as hubs.
_TRIED = 3

#: Hubs are chosen by the lives that end last, for it is these that new edges prolong: by so large a part of all, of
#: which the last ones, so large a part, count so many times as much.
_LATE, _LAST = 0.25, 0.05
_WEIGHT = 4

#: Of the lives that are looked at, the part that hubs have to tell to be worth it.
WORTH = 0.5


def new_hubs(terms: int, states: int, groups: int, roots: int, lives: type[np.unsignedinteger[Any]]) -> HubColumns:
    """No hubs, with room for so much."""
    return HubColumns(
        vertex=np.zeros(0, np.int64),
        state=np.zeros(0, np.int64),
        ahead=np.zeros((terms, states, 0), lives),
        back=np.zeros((terms, states, 0), lives),
        root_back=np.zeros((0, roots), lives),
        reached=np.zeros((0, terms), np.int32),
        listed=np.zeros(0, np.int64),
        is_listed=np.zeros((terms, 0), np.bool_),
        met=np.zeros(terms, np.int64),
        covers=np.zeros((0, 0), np.int8),
        gain_back=np.zeros((0, roots), lives),
        least_back=np.zeros(0, np.int64),
        replaced=np.zeros(0, np.int64),
        source=np.zeros((terms, groups), np.int32),
        root=np.zeros(roots, np.int32),
        life=np.zeros(roots, lives),
        cover=np.zeros(roots, lives),
        dying=np.zeros(roots, np.int32),
    )


def with_another(hubs: HubColumns, vertex: int, state: int) -> HubColumns:
    """The same hubs and another one, of which nothing else is known."""

    def wider(lives: NDArray[Any]) -> NDArray[Any]:
        return np.concatenate((lives, np.zeros((*lives.shape[:-1], 1), lives.dtype)), axis=-1)

    count, roots = len(hubs.vertex) + 1, len(hubs.root)
    return hubs._replace(
        vertex=np.append(hubs.vertex, vertex),
        state=np.append(hubs.state, state),
        ahead=wider(hubs.ahead),
        back=wider(hubs.back),
        reached=np.concatenate((hubs.reached, np.zeros((1, hubs.reached.shape[1]), np.int32))),
        listed=np.append(hubs.listed, 0),
        is_listed=wider(hubs.is_listed),
        root_back=np.zeros((count, roots), hubs.ahead.dtype),
        gain_back=np.zeros((count, roots), hubs.ahead.dtype),
        covers=np.zeros((count, count), np.int8),
        least_back=np.zeros(count, np.int64),
        replaced=np.zeros(count, np.int64),
    )


def with_terms(hubs: HubColumns, terms: int) -> HubColumns:
    """The same hubs with room for more terms."""
    of_terms = {name: grown(getattr(hubs, name), terms) for name in ("ahead", "back", "is_listed", "met", "source")}
    return hubs._replace(reached=np.ascontiguousarray(grown(hubs.reached.T, terms).T), **of_terms)


def with_roots(hubs: HubColumns, roots: int) -> HubColumns:
    """The same hubs with room for more roots."""
    root_back = np.ascontiguousarray(grown(hubs.root_back.T, roots).T)
    of_roots = {name: grown(getattr(hubs, name), roots) for name in ("root", "life", "cover", "dying")}
    return hubs._replace(root_back=root_back, gain_back=np.zeros_like(root_back), **of_roots)


def ranked_hubs(hubs: HubColumns, rank: NDArray[Any]) -> HubColumns:
    """The same hubs with another rank for every life."""
    return hubs._replace(
        **{name: rank[getattr(hubs, name)] for name in ("ahead", "back", "root_back")},
        **{name: np.zeros(getattr(hubs, name).shape, rank.dtype) for name in ("gain_back", "life", "cover")},
    )


def joined(hubs: HubColumns, trials: list[HubColumns], terms: NDArray[np.int32]) -> HubColumns:
    """Those of several searches instead of the hubs; `terms` are those of the roots."""
    back = np.concatenate([trial.back for trial in trials], axis=2)
    return hubs._replace(
        vertex=np.concatenate([trial.vertex for trial in trials]),
        state=np.concatenate([trial.state for trial in trials]),
        ahead=np.concatenate([trial.ahead for trial in trials], axis=2),
        back=back,
        root_back=np.ascontiguousarray(back[terms, 0].T),
        reached=np.concatenate([trial.reached for trial in trials]),
        listed=np.concatenate([trial.listed for trial in trials]),
        is_listed=np.concatenate([trial.is_listed for trial in trials], axis=1),
        gain_back=np.zeros((len(trials), len(terms)), back.dtype),
        covers=np.zeros((len(trials), len(trials)), np.int8),
        least_back=np.zeros(len(trials), np.int64),
        replaced=np.zeros(len(trials), np.int64),
        root=np.zeros(len(terms), np.int32),
        life=np.zeros(len(terms), back.dtype),
        cover=np.zeros(len(terms), back.dtype),
        dying=np.zeros(len(terms), np.int32),
    )


def has_closure(dfa: Dfa) -> bool:
    """Whether words of any length are accepted, so that paths may come by one product node again and again."""
    ahead = [set(moves.values()) for moves in dfa.moves]
    for _ in range(dfa.states):
        ahead = [following.union(*(ahead[state] for state in following)) for following in ahead]
    return any(state in following for state, following in enumerate(ahead))


def most_travelled(into: NDArray[np.int64], out: NDArray[np.int64], state: NDArray[np.int32]) -> list[int]:
    """The product nodes through which most paths of two edges lead, some of every state."""
    score = into * out
    found: list[int] = []
    for number in np.unique(state):
        nodes = np.flatnonzero((state == number) & (score > 0))
        found += nodes[np.argsort(-score[nodes], kind="stable")[:_TRIED]].tolist()
    return found


def late_lives(lives: NDArray[Any]) -> tuple[int, int]:
    """The least of the lives that end late, and of those that end last."""
    if not len(lives):
        return 1, 1
    ordered = np.sort(lives)[::-1]
    return int(ordered[int(_LATE * len(lives))]), int(ordered[int(_LAST * len(lives))])


def part_told(lives: NDArray[Any], told: NDArray[Any], last: int) -> float:
    """The part of some lives that is told in full, where those from `last` on count most."""
    counts = np.where(lives >= last, _WEIGHT, 1)
    return float(counts[told >= lives].sum()) / max(1.0, float(counts.sum()))


def best_hubs(lives: NDArray[Any], told: list[NDArray[Any]], last: int) -> tuple[list[int], float]:
    """Which candidates together tell most of some lives, and what part of these; `told` is what each tells."""
    chosen: list[int] = []
    together = np.zeros_like(lives)
    while told and len(chosen) < HUBS:
        parts = [part_told(lives, np.maximum(together, by_hub), last) for by_hub in told]
        best = int(np.argmax(parts))
        chosen.append(best)
        together = np.maximum(together, told[best])
    return chosen, part_told(lives, together, last)

"""PATTERN by the TP-join automaton: matches are enumerated, not stored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from spectra.errors import ResourceError
from spectra.operators.contract import Deltas
from spectra.operators.kernels.comparison import ComparisonColumns
from spectra.operators.kernels.output import new_output
from spectra.operators.kernels.tpjoin import PRUNED, PatternColumns, match_log
from spectra.operators.pattern.comparisons import Comparison, Comparisons
from spectra.views.kernels.apply import ENTERED, LogColumns
from spectra.views.view import OBJECT, PREDICATE, SUBJECT, WindowViews

#: Sets of variables and of patterns are bits of one integer.
_MOST = 60

#: What the counters of the automaton count: look-ups in an index, rows looked at, rows joined, executions that a state
#: without a row stopped, log entries passed over because some view is empty, rows that a comparison ruled out.
COUNTERS = ("probes", "candidates", "joined", "stopped", "skipped", "pruned")

#: (subject, predicate, object): a term id, or a variable's name.
EncodedPattern = tuple[int | str, int | str, int | str]


def _no_texts(terms: NDArray[np.int32]) -> list[str]:
    """Enough where nothing is compared."""
    raise AssertionError(f"{len(terms)} terms are compared without their texts")


class TpJoin:
    """Solutions of a basic graph pattern, as deltas.

    `removals` and `extensions` say whether a consumer asks for solutions that leave and for ends
    that move; what nobody asks for is not computed. `lazy`: nothing is joined until every triple pattern
    has a row in its view, since no solution can be there before. Solutions that fail one of the `comparisons`
    are left out where the keys of their terms decide it; `verdicts` tells which of the others it leaves open.
    `texts` gives the canonical texts of term ids.
    """

    def __init__(
        self,
        views: WindowViews,
        patterns: Sequence[EncodedPattern],
        projected: Sequence[str],
        *,
        removals: bool = True,
        extensions: bool = True,
        lazy: bool = True,
        comparisons: Sequence[Comparison] = (),
        texts: Callable[[NDArray[np.int32]], list[str]] = _no_texts,
    ) -> None:
        self.variables = tuple(projected)
        self._views = views
        self._removals = removals
        self._extensions = extensions
        self._lazy = lazy
        views.require(required_indexes(patterns))
        self._comparisons = Comparisons(views, patterns, variable_numbers(patterns), comparisons, texts)
        self._pattern = pattern_columns(patterns, projected, self._comparisons.columns)
        self._counts = np.zeros(PRUNED + 1, np.int64)
        self._reserve(1024)

    def _reserve(self, room: int) -> None:
        self._out = new_output(room, len(self.variables))

    @property
    def counters(self) -> dict[str, int]:
        """What the automaton has done so far."""
        return dict(zip(COUNTERS, self._counts.tolist(), strict=True))

    @property
    def verdicts(self) -> Callable[[NDArray[np.int32], str, NDArray[np.int32]], NDArray[np.int8]]:
        """What the keys of terms of the last batch's solutions say of a comparison: NO, YES or MAYBE."""
        return self._comparisons.verdicts

    @property
    def cardinalities(self) -> tuple[int, ...]:
        """How many rows the view of each triple pattern holds."""
        return tuple(self._pattern.held.tolist())

    def initial(self, at: int) -> Deltas:
        return Deltas.empty(len(self.variables))

    def process(self) -> Deltas:
        self._comparisons.enter()
        self._pattern = self._pattern._replace(comparisons=self._comparisons.columns)
        deltas = self._match(self._views.log.columns, self._views.log.entries, only=-1)
        self._comparisons.leave()
        return deltas

    def current(self, at: int) -> Deltas:
        rows = self._views.rows().astype(np.int32)
        everything = LogColumns(np.full(len(rows), at, np.int64), np.full(len(rows), ENTERED, np.int8), rows)
        return self._match(everything, len(rows), only=int(self._pattern.order[0]))

    def _match(self, log: LogColumns, entries: int, *, only: int) -> Deltas:
        self._pattern.index_of[:] = self._views.index_of()
        parts = []
        first = 0
        while first < entries:
            following, written = match_log(
                self._views.columns,
                log,
                first,
                entries,
                self._pattern,
                self._views.counting,
                self._removals,
                self._extensions,
                self._lazy and only < 0,
                np.int64(only),
                np.int64(2**31 - 2),
                self._out,
                self._counts,
            )
            if written:
                parts.append(Deltas.written(self._out, int(written)))
            if following < entries and (written == 0 or len(self._out.at) < 1 << 16):
                self._reserve(4 * len(self._out.at))
            first = int(following)
        return Deltas.concatenate(parts) if parts else Deltas.empty(len(self.variables))

    @property
    def nbytes(self) -> int:
        return columns_nbytes(self._pattern) + self._comparisons.nbytes + sum(array.nbytes for array in self._out)


def columns_nbytes(pattern: PatternColumns) -> int:
    """Bytes of a pattern and of the room for its search, comparisons aside."""
    return sum(array.nbytes for array in pattern if isinstance(array, np.ndarray))


def variable_numbers(patterns: Sequence[EncodedPattern]) -> dict[str, int]:
    """The variables of a basic graph pattern, numbered in the order in which they occur."""
    names = list(dict.fromkeys(term for pattern in patterns for term in pattern if isinstance(term, str)))
    if len(names) > _MOST or len(patterns) > _MOST:
        raise ResourceError(
            f"a basic graph pattern of {len(patterns)} triple patterns and {len(names)} variables is too large",
            detail=f"The limit is {_MOST} of each.",
        )
    return {name: at for at, name in enumerate(names)}


def encoded_terms(patterns: Sequence[EncodedPattern], number: dict[str, int]) -> NDArray[np.int32]:
    """A row per triple pattern: a constant's id, or minus the number of a variable."""
    return np.array([[-number[t] if isinstance(t, str) else t for t in p] for p in patterns], np.int32)


def pattern_columns(
    patterns: Sequence[EncodedPattern], projected: Sequence[str], comparisons: ComparisonColumns
) -> PatternColumns:
    """The pattern and the room for its search, as the kernels take them."""
    number = variable_numbers(patterns)
    count = len(patterns)
    depths = count + 1
    # a pattern of constants has a bit that is no variable's: it is looked up once, like any that nothing leads to
    variables = [sum(1 << number[t] for t in set(p) if isinstance(t, str)) or 1 << _MOST for p in patterns]
    for which, _, other, _ in comparisons.ranges.tolist():
        variables[which] |= 1 << other
    return PatternColumns(
        terms=encoded_terms(patterns, number),
        variables=np.array(variables, np.int64),
        index_of=np.full(8, -1, np.int64),
        projected=np.array([number[name] for name in projected], np.int64),
        held=np.zeros(count, np.int64),
        empty=np.array([(1 << count) - 1], np.int64),
        order=np.arange(count),
        comparisons=comparisons,
        binding=np.zeros(max(1, len(number)), np.int32),
        index_at=np.zeros((depths, count), np.int64),
        first_at=np.zeros((depths, count), np.int64),
        runs_at=np.zeros((depths, count, 3), np.int64),
        count_at=np.zeros((depths, count), np.int64),
        chosen=np.zeros(depths, np.int64),
        cursor=np.zeros(depths, np.int64),
        bound=np.zeros(depths, np.int64),
        ends=np.zeros((depths, 2), np.int64),
    )


def required_indexes(patterns: Sequence[EncodedPattern]) -> list[int]:
    """The indexes that let the automaton reach every pattern from every other one.

    A pattern is reached through a variable that it shares. Where the pattern falls into parts that
    share none, the other part is reached by its constants alone.
    """
    sharing: dict[str, int] = {}
    for pattern in patterns:
        for name in {term for term in pattern if isinstance(term, str)}:
            sharing[name] = sharing.get(name, 0) + 1
    masks = []
    connected = is_connected(patterns)
    for pattern in patterns:
        constants = constant_columns(pattern)
        if not connected:
            masks.append(constants)
        for bit, term in zip((SUBJECT, PREDICATE, OBJECT), pattern, strict=True):
            if isinstance(term, str) and sharing[term] > 1:
                masks.append(constants | bit)
    return masks


def constant_columns(pattern: EncodedPattern) -> int:
    """The columns in which a triple pattern has a constant."""
    columns = zip((SUBJECT, PREDICATE, OBJECT), pattern, strict=True)
    return sum(column for column, term in columns if not isinstance(term, str))


def is_connected(patterns: Sequence[EncodedPattern]) -> bool:
    reached = {0}
    names = {term for term in patterns[0] if isinstance(term, str)}
    growing = True
    while growing:
        growing = False
        for at, pattern in enumerate(patterns):
            if at not in reached and any(term in names for term in pattern if isinstance(term, str)):
                reached.add(at)
                names.update(term for term in pattern if isinstance(term, str))
                growing = True
    return len(reached) == len(patterns)

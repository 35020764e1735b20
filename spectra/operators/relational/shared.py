"""One operator that several others read."""

from __future__ import annotations

from spectra.operators.contract import Deltas, Operator


class Shared:
    """An operator whose deltas are computed once per call and given to each of its readers."""

    def __init__(self, source: Operator) -> None:
        self.source = source
        self.calls = 0
        self.deltas = Deltas.empty(len(source.variables))
        self.readers = 0

    def reader(self) -> Reader:
        """One more reader."""
        self.readers += 1
        return Reader(self)


class Reader:
    """What one consumer of a shared operator sees; each makes the same calls in the same order."""

    def __init__(self, shared: Shared) -> None:
        self.variables = shared.source.variables
        self._shared = shared
        self._calls = 0
        self._first = shared.readers == 1

    @property
    def counters(self) -> dict[str, int]:
        return self._shared.source.counters

    def initial(self, at: int) -> Deltas:
        if self._is_ahead():
            self._shared.deltas = self._shared.source.initial(at)
        return self._shared.deltas

    def process(self) -> Deltas:
        if self._is_ahead():
            self._shared.deltas = self._shared.source.process()
        return self._shared.deltas

    def current(self, at: int) -> Deltas:
        return self._shared.source.current(at)

    def _is_ahead(self) -> bool:
        """Count a call; whether no other reader has made it before."""
        self._calls += 1
        if self._calls > self._shared.calls:
            self._shared.calls = self._calls
            return True
        return False

    @property
    def nbytes(self) -> int:
        return self._shared.source.nbytes if self._first else 0

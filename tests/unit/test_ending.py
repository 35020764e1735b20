"""A follower that is told to end does so where nothing is half done, and at once when told again."""

from __future__ import annotations

import signal

import pytest

from spectra.ending import Ending


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_for_the_next_check(number: signal.Signals) -> None:
    before = signal.getsignal(number)
    ending = Ending()
    with ending.awaited():
        ending.check()
        signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            ending.check()
    assert signal.getsignal(number) == before


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_second_signal_does_not_wait(number: signal.Signals) -> None:
    with Ending().awaited():
        signal.raise_signal(number)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(number)

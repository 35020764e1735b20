"""Two lists of deltas, each in time order, as one."""

from __future__ import annotations

from spectra.jit import kernel


@kernel
def copy_deltas(source, start, stop, out, at):
    """Write some deltas to `out` from a place on; the place behind them."""
    # column by column, so that each loop is a copy of memory
    for number in range(stop - start):
        out.at[at + number] = source.at[start + number]
    for number in range(stop - start):
        out.sign[at + number] = source.sign[start + number]
    for number in range(stop - start):
        out.until[at + number] = source.until[start + number]
    for number in range(stop - start):
        for column in range(out.rows.shape[1]):
            out.rows[at + number, column] = source.rows[start + number, column]
    return at + stop - start


@kernel
def merge_in_time_order(first, second, out):
    """Fill `out` with the deltas of two lists; those of the first come first at an instant."""
    of_first = of_second = at = 0
    while of_first < first.at.shape[0] or of_second < second.at.shape[0]:
        start = of_first
        while of_first < first.at.shape[0] and (
            of_second == second.at.shape[0] or first.at[of_first] <= second.at[of_second]
        ):
            of_first += 1
        at = copy_deltas(first, start, of_first, out, at)
        start = of_second
        while of_second < second.at.shape[0] and (
            of_first == first.at.shape[0] or second.at[of_second] < first.at[of_first]
        ):
            of_second += 1
        at = copy_deltas(second, start, of_second, out, at)

"""Set functions (SPARQL 1.1, section 18.5.1) over multisets that change, each with how long its value lasts.

Where SPARQL leaves a choice it is fixed, so that answers do not depend on the order of arrival: SAMPLE is the
least value in the order of ORDER BY, GROUP_CONCAT joins the strings in the order of their texts. Sums are exact
and rounded once.
"""

from __future__ import annotations

import math
from bisect import bisect_left, insort
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from decimal import Context, Decimal

from spectra.clock import FOREVER
from spectra.errors import InternalError
from spectra.sparql import numeric
from spectra.sparql.numeric import DECIMAL, DOUBLE, FLOAT, INTEGER
from spectra.sparql.values import BLANK, IRI, OrderKey, Value, divide, order_key, string, value_of

#: Id of a member without a value: an unbound variable, or an error.
ERROR = 0

#: Sums of decimals do not round; a sum that is too long to write is an error when it is told.
_UNROUNDED = Context(prec=10**6)
_BINARY_POINT = 1074  # every double is a whole number of 2**-1074


@dataclass(frozen=True, slots=True)
class SetFunction:
    """COUNT, SUM, MIN, MAX, AVG, SAMPLE or GROUP_CONCAT; `separator` is that of GROUP_CONCAT."""

    name: str
    distinct: bool
    separator: str | None = None


class Total:
    """The exact sum of numbers that come and go, by type."""

    __slots__ = ("bad", "count", "numbers", "special", "sums")

    def __init__(self) -> None:
        self.count = 0
        self.bad = 0  # members that are not numbers
        self.numbers = [0, 0, 0, 0]
        self.sums: list[int | Decimal] = [0, Decimal(0), 0, 0]
        self.special = {math.inf: 0, -math.inf: 0, math.nan: 0}

    def copy(self) -> Total:
        other = Total()
        other.count, other.bad, other.numbers = self.count, self.bad, self.numbers.copy()
        other.sums, other.special = self.sums.copy(), self.special.copy()
        return other

    def add(self, value: Value | None, copies: int) -> None:
        """Add a value so many times; a negative number takes it away."""
        self.count += copies
        if value is None or not value.is_numeric:
            self.bad += copies
            return
        kind = value.kind
        self.numbers[kind] += copies
        if kind == INTEGER:
            self.sums[kind] += copies * value.value
        elif kind == DECIMAL:
            product = _UNROUNDED.multiply(value.value, Decimal(copies))
            self.sums[kind] = _UNROUNDED.add(Decimal(self.sums[kind]), product)
        elif math.isfinite(value.value):
            self.sums[kind] += copies * _whole(value.value)
        else:
            self.special[math.nan if math.isnan(value.value) else value.value] += copies

    @property
    def mixed(self) -> bool:
        """Whether exact numbers have to be promoted to binary ones, each by itself."""
        return bool((self.numbers[FLOAT] or self.numbers[DOUBLE]) and (self.numbers[INTEGER] or self.numbers[DECIMAL]))

    def sum(self) -> Value | None:
        """The sum, 0 of nothing; not to be asked of numbers that are `mixed`."""
        if self.bad:
            return None
        if self.numbers[FLOAT] or self.numbers[DOUBLE]:
            kind = DOUBLE if self.numbers[DOUBLE] else FLOAT
            return Value(kind, _rounded(kind, int(self.sums[FLOAT]) + int(self.sums[DOUBLE]), self.special))
        if self.numbers[DECIMAL]:
            exact = _UNROUNDED.add(Decimal(self.sums[DECIMAL]), Decimal(self.sums[INTEGER]))
            written = numeric.add(DECIMAL, exact, Decimal(0))
            return None if written is None else Value(DECIMAL, written)
        return Value(INTEGER, int(self.sums[INTEGER]))


def _whole(value: float) -> int:
    numerator, denominator = value.as_integer_ratio()
    return numerator << (_BINARY_POINT + 1 - denominator.bit_length())


def _rounded(kind: int, whole: int, special: dict[float, int]) -> float:
    if any(special.values()):
        result = sum(number for number, copies in special.items() if copies)
    else:
        try:
            result = whole / (1 << _BINARY_POINT)
        except OverflowError:
            result = math.copysign(math.inf, whole)
    return numeric.as_float(result) if kind == FLOAT else result


class Member:
    """One value of a multiset: its term, and how many copies have which end."""

    __slots__ = ("copies", "ends", "id", "key", "text")

    def __init__(self, term: int, text: str | None, key: OrderKey) -> None:
        self.id = term
        self.text = text
        self.key = key
        self.copies = 0
        self.ends: dict[int, int] = {}

    @property
    def last(self) -> int:
        """When the last copy ends."""
        return max(self.ends)

    @property
    def value(self) -> Value | None:
        return None if self.text is None else value_of(self.text)

    def __lt__(self, other: Member) -> bool:
        return (self.key, self.text or "") < (other.key, other.text or "")


class Members:
    """The values of one argument in one group, by value and by end; in order where MIN, MAX or SAMPLE ask."""

    def __init__(self, functions: list[SetFunction]) -> None:
        names = {function.name for function in functions}
        sums = {function.distinct for function in functions if function.name in ("SUM", "AVG")}
        self.values: dict[Hashable, Member] = {}
        self.by_end: dict[int, dict[Hashable, int]] = {}
        self.ends: list[int] = []
        self.size = 0  # copies that have a value
        self.ordered: list[Member] | None = [] if names & {"MIN", "MAX", "SAMPLE"} else None
        self.totals = {distinct: Total() for distinct in sums}

    def change(self, term: Hashable, text: str | None, end: int, copies: int) -> None:
        """Add copies of a value with an end, or take them away."""
        member = self.values.get(term)
        if member is None:
            in_order = self.ordered is not None and term != ERROR
            number = term if isinstance(term, int) else ERROR
            member = self.values[term] = Member(number, text, order_key(text) if in_order else ())
            if self.ordered is not None and in_order:
                insort(self.ordered, member)
        before, member.copies = member.copies, member.copies + copies
        if term != ERROR:
            self.size += copies
        of_member = member.ends.get(end, 0) + copies
        if of_member < 0:
            raise InternalError("a group was told of a row that leaves and never came")
        if of_member:
            member.ends[end] = of_member
        else:
            del member.ends[end]
        bucket = self.by_end.get(end)
        if bucket is None:
            bucket = self.by_end[end] = {}
            insort(self.ends, end)
        if of_member:
            bucket[term] = of_member
        else:
            del bucket[term]
            if not bucket:
                del self.by_end[end]
                del self.ends[bisect_left(self.ends, end)]
        for distinct, total in self.totals.items():
            step = int(member.copies > 0) - int(before > 0) if distinct else copies
            if step:
                total.add(member.value, step)
        if not member.copies:
            del self.values[term]
            if self.ordered is not None and term != ERROR:
                del self.ordered[bisect_left(self.ordered, member)]

    def leaving(self) -> Iterator[tuple[int, dict[Hashable, int]]]:
        """The ends in order, each with the copies that leave then."""
        for end in self.ends:
            yield end, self.by_end[end]


#: A term id, or the text of a computed term; None for an error.
Result = int | str | None


def evaluate(function: SetFunction, members: Members) -> tuple[Result, int]:
    """The value of a set function, and the first instant at which it will be another if nothing arrives."""
    match function.name:
        case "COUNT":
            return _distinct_count(members) if function.distinct else _count_of(members)
        case "SUM" | "AVG":
            return _sum_or_average(function, members)
        case "GROUP_CONCAT":
            return _group_concat(function, members)
        case _:
            return _extreme(function.name, members)


def _count_of(members: Members) -> tuple[Result, int]:
    until = next((end for end, bucket in members.leaving() if any(term != ERROR for term in bucket)), FOREVER)
    return Value(INTEGER, members.size).text, until


def _distinct_count(members: Members) -> tuple[Result, int]:
    count = len(members.values) - (ERROR in members.values)
    for end, bucket in members.leaving():
        if any(term != ERROR and members.values[term].last == end for term in bucket):
            return Value(INTEGER, count).text, end
    return Value(INTEGER, count).text, FOREVER


def _extreme(name: str, members: Members) -> tuple[Result, int]:
    ordered = members.ordered or []
    failed = members.values.get(ERROR) if name != "SAMPLE" else None
    if failed is not None:
        until = failed.last
        return None, until if any(member.last > until for member in ordered) else FOREVER
    if not ordered:
        return None, FOREVER
    member = ordered[-1 if name == "MAX" else 0]
    return member.id, member.last


def _sum_or_average(function: SetFunction, members: Members) -> tuple[Result, int]:
    total = members.totals[function.distinct]
    average = function.name == "AVG"
    if total.bad:
        bad = (member.last for member in members.values.values() if member.value is None or not _numeric(member))
        return None, max(bad)
    now = _number(total, members, None, average, function.distinct)
    later = total.copy()
    for end, bucket in members.leaving():
        for term, copies in bucket.items():
            member = members.values[term]
            if not function.distinct:
                later.add(member.value, -copies)
            elif member.last == end:
                later.add(member.value, -1)
        if _number(later, members, end, average, function.distinct) != now:
            return now, end
    return now, FOREVER


def _numeric(member: Member) -> bool:
    return member.value is not None and member.value.is_numeric


def _number(total: Total, members: Members, end: int | None, average: bool, distinct: bool) -> str | None:
    """The text of a sum or an average of what is left after an end (None: now)."""
    if total.mixed:
        total = _promoted(members, end, DOUBLE if total.numbers[DOUBLE] else FLOAT, distinct)
    result = total.sum()
    if result is not None and average and total.count:
        result = divide(result, Value(INTEGER, total.count))
    return None if result is None else result.text


def _promoted(members: Members, end: int | None, kind: int, distinct: bool) -> Total:
    """The total with each number as one of a binary type."""
    total = Total()
    for member in members.values.values():
        copies = sum(n for last, n in member.ends.items() if end is None or last > end)
        if copies and member.value is not None:
            total.add(Value(kind, numeric.promote(member.value.value, kind)), 1 if distinct else copies)
    return total


def _group_concat(function: SetFunction, members: Members) -> tuple[Result, int]:
    bad = [member.last for member in members.values.values() if _string(member) is None]
    if bad:
        return None, max(bad)
    now = _concatenated(function, members, None)
    until = next((end for end in members.ends if _concatenated(function, members, end) != now), FOREVER)
    return now, until


def _concatenated(function: SetFunction, members: Members, end: int | None) -> str:
    strings: list[str] = []
    for member in members.values.values():
        copies = sum(n for last, n in member.ends.items() if end is None or last > end)
        if copies:
            strings += [_string(member) or ""] * (1 if function.distinct else copies)
    return string((function.separator if function.separator is not None else " ").join(sorted(strings))).text


def _string(member: Member) -> str | None:
    """STR of a member, None where it has none."""
    value = member.value
    if value is None or value.kind == BLANK:
        return None
    return str(value.value) if value.kind == IRI else value.lexical

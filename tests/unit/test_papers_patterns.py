"""The papers' own examples, as far as their text gives the triples, with answers worked out by hand.

SPECTRA (004): the house with its appliances and its two events. CGPM (003): the events of a house, and the
updates of a social network, which are joined only when every triple pattern has a triple.
"""

from __future__ import annotations

import pytest

import spectra
from spectra.operators.pattern.tpjoin import TpJoin
from tests.unit.notation import STREAM, query, triple

OPERATORS = ["auto", "tpjoin", "siblings", "recompute"]

#: Query 1 of SPECTRA: appliances that are on, of a house near the one with the id 2.
NEARBY = (
    "?house <urn:has_appliance> ?app . ?app <urn:status> <urn:ON> . "
    "?house <urn:near_by> ?nbhouse . ?nbhouse <urn:id> <urn:2>"
)
FIRST = ["H1 has_appliance H1App1", "H1 near_by H2", "H1App1 power_usage 50", "H1App1 status ON", "H2 id 2"]
SECOND = ["H1 has_appliance H1App2", "H1App2 status ON"]


class House:
    """An engine with one query; `push` tells `+app nbhouse house until 10` for each change."""

    def __init__(self, pattern, window, operator, output="CHANGES"):
        self.engine = spectra.Engine(pattern=operator)
        self.query = self.engine.register(query(window, pattern, output))

    def push(self, second, *triples):
        told = self.engine.push([triple(text) for text in triples], at=1000 * second, stream=STREAM)
        return _lines(told)

    def advance(self, second):
        return _lines(self.engine.advance(1000 * second))


def _lines(changes):
    lines = []
    for change in changes:
        row = " ".join(str(change.bindings[name])[4:] for name in sorted(change.bindings))
        until = f" until {change.until.milliseconds // 1000}" if change.until is not None and change.op == "+" else ""
        lines.append(f"{change.at.milliseconds // 1000} {change.op}{row}{until}")
    return sorted(lines)


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_first_event_of_the_house_matches_by_itself(operator):
    house = House(NEARBY, "RANGE PT10S STEP PT5S", operator)
    assert house.push(1, *FIRST) == ["1 +H1App1 H1 H2 until 10"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_the_second_event_joins_with_what_the_window_holds(operator):
    house = House(NEARBY, "RANGE PT10S STEP PT5S", operator)
    house.push(1, *FIRST)
    # the new appliance lasts until 15, but the nearby house is known only until 10
    assert house.push(6, *SECOND) == ["6 +H1App2 H1 H2 until 10"]
    assert house.advance(10) == ["10 -H1App1 H1 H2", "10 -H1App2 H1 H2"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_partial_matches_wait_for_what_comes_later(operator):
    house = House(NEARBY, "RANGE PT10S STEP PT5S", operator)
    # taken literally, the paper joins a new event only with complete matches: here there is none yet
    assert house.push(1, *SECOND) == []
    assert house.push(6, "H1 near_by H2", "H2 id 2") == ["6 +H1App2 H1 H2 until 10"]
    # a second appliance, off, and a house nearby with another id
    assert house.push(7, "H1 has_appliance H1App3", "H1App3 status OFF", "H1 near_by H3", "H3 id 3") == []
    assert house.advance(15) == ["10 -H1App2 H1 H2"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_only_what_the_query_can_use_is_kept(operator):
    house = House(NEARBY, "RANGE PT10S STEP PT5S", operator)
    house.push(1, *FIRST, "H1App3 status OFF", "H3 id 3")
    # the power usage goes by its predicate, OFF and 3 by the constants at the object
    assert house.engine.statistics()["triples"] == 4


@pytest.mark.parametrize("operator", OPERATORS)
def test_sibling_tuples_of_two_views(operator):
    house = House("?house <urn:p> ?room . ?room <urn:q> ?app", "RANGE PT10S", operator, output="ISTREAM")
    house.push(1, "H1 p H1App", "H2 p H2App", "H3 p H3App")
    joined = ["H1App q H1App1", "H1App q H1App2", "H2App q H2App1", "H3App q H3App1", "H3App q H3App2"]
    assert house.push(2, *joined) == [
        "2 +H1App1 H1 H1App until 10",
        "2 +H1App2 H1 H1App until 10",
        "2 +H2App1 H2 H2App until 10",
        "2 +H3App1 H3 H3App until 10",
        "2 +H3App2 H3 H3App until 10",
    ]


# --- CGPM -----------------------------------------------------------------------------------

POWER = "?house <urn:location> ?where . ?house <urn:powerS> ?source . ?source <urn:apptype> ?app . ?app <urn:value2> ?v"


@pytest.mark.parametrize("operator", OPERATORS)
def test_each_event_of_the_house_by_itself(operator):
    house = House(POWER, "ELEMENTS 1 STEP 1", operator, output="ISTREAM")
    event = ["House1 location South", "House1 powerS P1", "House1 powerS P2", "P2 apptype App2", "App2 value2 30"]
    assert house.push(1, *event) == ["1 +App2 House1 P2 30 South"]
    event = ["House1 location South", "House1 powerS P1", "P1 apptype App1", "App1 value2 50"]
    assert house.push(2, *event) == ["2 +App1 House1 P1 50 South"]


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_atomic_filter_leaves_one_of_two_mappings(operator):
    house = House("?s <urn:weather> ?o1 FILTER(?o1 = <urn:sunny>)", "RANGE PT10S", operator, output="ISTREAM")
    assert house.push(1, "house2 weather sunny", "house1 weather raining") == ["1 +sunny house2 until 10"]


#: The text names the third and the fourth update; the first two bring a post and the third view's friend.
SOCIAL = "?p <urn:knows> ?f . ?p <urn:ps> ?post . ?p <urn:pic> ?picture"


@pytest.mark.parametrize("operator", OPERATORS)
def test_updates_of_a_social_network(operator):
    network = House(SOCIAL, "RANGE PT1H", operator, output="ISTREAM")
    assert network.push(1, "p1 knows p2") == []
    assert network.push(2, "p1 ps ps1") == []
    assert network.push(3, "p1 pic pic1") == ["3 +p2 p1 pic1 ps1 until 3600"]
    # one triple pattern only, and it joins with what was matched before
    assert network.push(4, "p1 ps ps2") == ["4 +p2 p1 pic1 ps2 until 3600"]


def test_nothing_is_joined_before_the_third_update():
    network = House(SOCIAL, "RANGE PT1H", "tpjoin", output="ISTREAM")
    operator = network.query.operator
    while not isinstance(operator, TpJoin):
        operator = operator.source
    network.push(1, "p1 knows p2")
    network.push(2, "p1 ps ps1")
    assert operator.counters == {"probes": 0, "candidates": 0, "joined": 0, "stopped": 0, "skipped": 2, "pruned": 0}
    network.push(3, "p1 pic pic1")
    assert operator.counters == {"probes": 2, "candidates": 2, "joined": 2, "stopped": 0, "skipped": 2, "pruned": 0}
    network.push(4, "p1 ps ps2")
    assert operator.counters == {"probes": 4, "candidates": 4, "joined": 4, "stopped": 0, "skipped": 2, "pruned": 0}

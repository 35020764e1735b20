"""Property paths: what is a bag, what is a set, and what zero-length paths range over."""

from __future__ import annotations

from spectra.oracle import Dataset, TripleSet, evaluate
from spectra.sparql.syntax import (
    AlternativePath,
    Bgp,
    Exists,
    Filter,
    InversePath,
    Join,
    NegatedPropertySet,
    OneOrMorePath,
    PathExpression,
    PathPattern,
    RepeatPath,
    SequencePath,
    TriplePattern,
    Values,
    Variable,
    ZeroOrMorePath,
    ZeroOrOnePath,
)
from tests.unit.oracle.build import X, Y, bgp, iri, link, pairs, path, triples

P, Q = link("p"), link("q")
DIAMOND = "a p b, a p c, b p d, c p d"


def answer(data: str, subject: str, expression: PathExpression, object_: str) -> list[str]:
    return pairs(evaluate(path(subject, expression, object_), Dataset(TripleSet(triples(data)))))


def test_sequences_keep_duplicates():
    assert answer(DIAMOND, "?x", SequencePath((P, P)), "?y") == ["a d", "a d"]
    assert answer(DIAMOND, "a", SequencePath((P, P)), "d") == ["", ""]
    assert answer(DIAMOND, "?x", InversePath(SequencePath((P, P))), "a") == ["d", "d"]


def simple(data: str, subject: str, expression: PathExpression, object_: str) -> list[str]:
    return pairs(evaluate(path(subject, expression, object_), Dataset(TripleSet(triples(data))), simple=True))


def test_a_simple_path_repeats_no_vertex():
    cycle = "a p b, b p c, c p a"
    assert simple(cycle, "a", OneOrMorePath(P), "?y") == ["b", "c"]
    assert simple(cycle, "a", ZeroOrMorePath(P), "?y") == ["a", "b", "c"]
    # as a whole, its parts together
    assert simple(cycle, "a", SequencePath((P, P, P, P)), "?y") == []
    assert simple(cycle, "a", OneOrMorePath(SequencePath((P, P))), "?y") == ["c"]
    assert simple(cycle, "a", RepeatPath(P, 2, None), "?y") == ["c"]
    # against its direction
    assert simple(cycle, "a", InversePath(SequencePath((P, P))), "?y") == ["b"]
    assert simple("a p b, c p b", "a", SequencePath((P, InversePath(P))), "?y") == ["c"]


def test_simple_paths_are_a_set_and_single_predicates_triples():
    assert simple(DIAMOND, "a", SequencePath((P, P)), "?y") == ["d"]
    assert simple("a p a", "?x", InversePath(P), "?x") == ["a"]
    assert simple("a p a", "?x", OneOrMorePath(P), "?x") == []


def test_alternatives_keep_duplicates():
    assert answer("a p b, a q b", "a", AlternativePath((P, Q)), "?y") == ["b", "b"]
    assert answer("a p b", "a", AlternativePath((P, P)), "?y") == ["b", "b"]


def test_star_plus_and_question_mark_are_sets():
    assert answer(DIAMOND, "a", ZeroOrMorePath(P), "?y") == ["a", "b", "c", "d"]
    assert answer(DIAMOND, "a", OneOrMorePath(P), "?y") == ["b", "c", "d"]
    assert answer("a p a, a p b", "a", ZeroOrOnePath(AlternativePath((P, P))), "?y") == ["a", "b"]
    assert answer(DIAMOND, "a", ZeroOrOnePath(SequencePath((P, P))), "?y") == ["a", "d"]


def test_a_sequence_of_stars_counts_the_ways_to_split():
    # a -p-> b : a|a-b, a-b|b ; the inner variable is a or b
    assert answer("a p b", "a", SequencePath((ZeroOrMorePath(P), ZeroOrMorePath(P))), "?y") == ["a", "b", "b"]


def test_plus_on_a_cycle_comes_back_to_its_start():
    assert answer("a p b, b p a", "a", OneOrMorePath(P), "?y") == ["a", "b"]
    assert answer("a p b, b p a", "?x", OneOrMorePath(P), "?x") == ["a", "b"]
    assert answer("a p b, b p c", "?x", OneOrMorePath(P), "?x") == []


def test_nested_closures():
    star = ZeroOrMorePath(ZeroOrMorePath(P))
    assert answer(DIAMOND, "a", star, "?y") == ["a", "b", "c", "d"]
    assert answer("a p b, b q c, c p d, d q e", "a", OneOrMorePath(SequencePath((P, Q))), "?y") == ["c", "e"]
    assert answer("a p b", "?x", OneOrMorePath(ZeroOrOnePath(P)), "?y") == ["a a", "a b", "b b"]


def test_zero_length_paths_range_over_subjects_and_objects_of_the_graph():
    assert answer("a p b", "?x", ZeroOrMorePath(Q), "?y") == ["a a", "b b"]  # p is no node
    assert answer("a p b", "?x", ZeroOrOnePath(Q), "?x") == ["a", "b"]
    assert answer("", "?x", ZeroOrMorePath(Q), "?y") == []


def test_a_constant_matches_itself_even_if_it_is_not_in_the_graph():
    assert answer("a p b", "z", ZeroOrMorePath(P), "?y") == ["z"]
    assert answer("a p b", "?x", ZeroOrMorePath(P), "z") == ["z"]
    assert answer("", "z", ZeroOrOnePath(P), "z") == [""]
    assert answer("a p b", "z", OneOrMorePath(P), "?y") == []
    assert answer("a p b", "z", OneOrMorePath(ZeroOrOnePath(P)), "?y") == ["z"]
    assert answer("a p b", "z", InversePath(ZeroOrMorePath(P)), "?y") == ["z"]
    assert answer("a p b", "z", AlternativePath((ZeroOrMorePath(P), ZeroOrOnePath(Q))), "?y") == ["z", "z"]


def test_the_variable_inside_a_sequence_ranges_over_the_graph_only():
    # section 18.4: z p* ?v . ?v q* ?y, and ?v q* ?y has no solution for a term that is not in the graph
    both = SequencePath((ZeroOrMorePath(P), ZeroOrMorePath(Q)))
    assert answer("a p b", "z", both, "?y") == []
    assert answer("a p b", "?x", both, "z") == []
    assert answer("z r b", "z", both, "?y") == ["z"]


def test_a_variable_bound_elsewhere_still_ranges_over_the_graph():
    # ?x is bound to a predicate, which is no term that zero-length paths match
    pattern = Bgp((TriplePattern(iri("a"), X, iri("b")), PathPattern(X, ZeroOrMorePath(Q), Y)))
    assert evaluate(pattern, Dataset(TripleSet(triples("a p b")))) == []
    joined = Join(Values((X,), ((iri("z"),),)), path("?x", ZeroOrMorePath(Q), "?y"))
    assert evaluate(joined, Dataset(TripleSet(triples("a p b")))) == []


def test_exists_makes_a_constant_of_a_bound_variable():
    # substitution puts the value in, so it matches itself
    pattern = Filter(Exists(path("?x", ZeroOrMorePath(Q), "?y"), False), Values((X,), ((iri("z"),),)))
    assert pairs(evaluate(pattern, Dataset(TripleSet(triples("a p b"))))) == ["z"]


def test_literals_are_ends_of_zero_length_paths_too():
    assert answer("a p 1", "?x", ZeroOrOnePath(Q), "1") == ['"1"^^<http://www.w3.org/2001/XMLSchema#integer>']


def test_negated_sets_keep_one_result_for_each_triple():
    data = "a p b, a q b, a r b, b s a"
    not_p = NegatedPropertySet((iri("p"),), None)
    assert answer(data, "a", not_p, "?y") == ["b", "b"]
    assert answer(data, "a", NegatedPropertySet(None, (iri("p"),)), "?y") == ["b"]
    assert answer(data, "a", NegatedPropertySet((iri("p"), iri("q")), (iri("p"),)), "?y") == ["b", "b"]
    assert answer(data, "b", InversePath(not_p), "?y") == ["a", "a"]
    assert answer(data, "?x", not_p, "a") == ["b"]


def test_exact_repetition_is_the_sequence():
    assert answer(DIAMOND, "a", RepeatPath(P, 2, 2), "?y") == ["d", "d"]
    assert answer(DIAMOND, "a", RepeatPath(P, 1, 1), "?y") == ["b", "c"]
    assert answer(DIAMOND, "?x", RepeatPath(P, 0, 0), "?y") == ["a a", "b b", "c c", "d d"]
    assert answer(DIAMOND, "z", RepeatPath(P, 0, 0), "?y") == ["z"]


def test_bounded_repetition_gives_distinct_pairs():
    assert answer(DIAMOND, "a", RepeatPath(P, 1, 2), "?y") == ["b", "c", "d"]
    assert answer(DIAMOND, "a", RepeatPath(P, 0, 1), "?y") == ["a", "b", "c"]
    assert answer(DIAMOND, "a", RepeatPath(P, 2, 5), "?y") == ["d"]
    assert answer(DIAMOND, "?x", RepeatPath(P, 2, 3), "d") == ["a"]
    assert answer(DIAMOND, "z", RepeatPath(P, 0, 2), "?y") == ["z"]


def test_open_repetition_goes_on():
    chain = "a p b, b p c, c p d"
    assert answer(chain, "a", RepeatPath(P, 2, None), "?y") == ["c", "d"]
    assert answer(chain, "a", RepeatPath(P, 0, None), "?y") == ["a", "b", "c", "d"]
    assert answer("a p b, b p a", "a", RepeatPath(P, 3, None), "?y") == ["a", "b"]


def test_path_patterns_join_with_the_rest_of_the_basic_graph_pattern():
    data = "a p b, b p c, c type t, b type t"
    pattern = Bgp((*path("?x", OneOrMorePath(P), "?y").patterns, *bgp("?y type t").patterns))
    assert pairs(evaluate(pattern, Dataset(TripleSet(triples(data))))) == ["a b", "a c", "b c"]
    cycle = Bgp((PathPattern(X, P, Y), PathPattern(Y, OneOrMorePath(P), Variable("x"))))
    assert pairs(evaluate(cycle, Dataset(TripleSet(triples("a p b, b p a, b p c"))))) == ["a b", "b a"]

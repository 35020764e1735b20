"""The graph of a CONSTRUCT query (section 16.2)."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from spectra.oracle.dataset import Quad, Triple
from spectra.oracle.expressions import Solution
from spectra.oracle.multiset import canonical
from spectra.oracle.terms import is_blank, is_iri, is_literal
from spectra.sparql.syntax import QuadPattern, TemplatePattern, Term, Variable


def construct(template: Sequence[TemplatePattern], solutions: Iterable[Solution]) -> set[Triple | Quad]:
    """The triples and quads of the template for all solutions, without those that are not RDF.

    A blank node of the template is a new node for each solution. Its label is made from the
    solution and the number of its copy, so that the same solutions give the same graph again.
    """
    copies: Counter[tuple[tuple[str, str], ...]] = Counter()
    graph: set[Triple | Quad] = set()
    for solution in solutions:
        pairs = canonical(solution)
        copies[pairs] += 1
        scope = hashlib.blake2b(repr((pairs, copies[pairs])).encode(), digest_size=8).hexdigest()
        for pattern in template:
            terms = (pattern.subject, pattern.predicate, pattern.object)
            subject, predicate, object_ = (_instance(term, solution, scope) for term in terms)
            if subject is None or predicate is None or object_ is None:
                continue
            if is_literal(subject) or not is_iri(predicate):
                continue
            if not isinstance(pattern, QuadPattern):
                graph.add((subject, predicate, object_))
            elif (name := _instance(pattern.graph, solution, scope)) is not None and not is_literal(name):
                graph.add((subject, predicate, object_, name))
    return graph


def _instance(term: Term, solution: Solution, scope: str) -> str | None:
    if not isinstance(term, Variable):
        return term
    if is_blank(term.name):
        return f"{term.name}.{scope}"
    return solution.get(term.name)

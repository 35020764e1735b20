"""Equivalences of the algebra, a file each: a rule gives the plans that may stand for a node.

All hold for bags, and at every instant, so that the changes told are the same. Where a law holds only for
sets, DISTINCT is part of it. `spectra.planner.pipeline` lists them in the order in which they are tried.
"""

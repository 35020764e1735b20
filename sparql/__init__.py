"""Query text -> `ContinuousQuery`. Knows neither storage nor execution."""

from spectra.sparql.rspql import parse_query

__all__ = ["parse_query"]

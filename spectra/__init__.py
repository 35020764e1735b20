"""Continuous SPARQL queries, property paths included, over streams of RDF graphs."""

"""The scanner: N-Triples, N-Quads and RDF Patch lines to spans of canonical term text."""

"""The rest of SPARQL, on signed changes."""

"""Canonical term text <-> dense integer id."""

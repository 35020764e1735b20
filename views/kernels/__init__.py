"""Compiled loops of the views."""

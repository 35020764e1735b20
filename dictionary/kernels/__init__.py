"""Compiled loops over term text and term ids."""

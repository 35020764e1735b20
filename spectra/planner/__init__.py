"""Logical plan -> physical plan."""

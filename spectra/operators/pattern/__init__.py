"""PATTERN: basic graph patterns over the views of one window."""

"""Streams on disk and in memory: text to batches of events, bad lines to the quarantine."""

"""The streaming graph algebra: what a query asks for, as a tree of operators over windowed streams."""

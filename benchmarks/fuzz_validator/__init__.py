"""Fuzzed generator outputs through parser and validator: what may be shown must always be quoted."""

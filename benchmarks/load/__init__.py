"""Twice the load the system can sustain: what admitted and refused callers see, and what memory does."""

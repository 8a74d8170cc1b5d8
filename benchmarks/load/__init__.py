"""Twice the load the system can sustain, for minutes: what admitted and refused callers see, what memory does."""

"""Generators: what writes or quotes an answer from passages."""

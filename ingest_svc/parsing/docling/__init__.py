"""Parsing with Docling: an option for production, in an environment of its own (it imports torch)."""

"""Parsers: bytes of one file in, Markdown blocks and a parse report out. `parse.parse_file` is the entry."""

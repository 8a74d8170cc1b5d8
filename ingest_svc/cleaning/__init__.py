"""Cleaning: takes out what carries no knowledge and only that. `clean.clean` is the entry."""

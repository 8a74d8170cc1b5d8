"""DBOS, kept in one place: nothing outside this package imports it."""

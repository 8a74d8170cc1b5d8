"""Measures a radref system through its public API: answers (`qa`) and ranking (`retrieval`)."""

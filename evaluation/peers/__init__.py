"""Compares radref's retrieval with other open systems on one machine; see docs/peers.md."""

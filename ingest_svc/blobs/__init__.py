"""The store of uploaded bytes, named by their SHA-256, written once and never changed."""

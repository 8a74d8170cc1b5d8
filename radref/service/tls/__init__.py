"""Certificates: read, renewed while running, shown to peers and asked of them."""

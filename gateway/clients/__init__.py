"""Adapters: the gateway's ports over the neighbours' gRPC APIs."""

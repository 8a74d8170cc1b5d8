"""Appropriateness variants as documents: stored as their passage, indexed as one parent."""

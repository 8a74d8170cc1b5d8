"""Rerankers: relevance of documents for a query."""

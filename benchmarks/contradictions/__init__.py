"""Precision and recall of the notices for contradicting passages."""

"""Imaging appropriateness: a scenario is read into facts, facts are held against variants, one fits or none does."""

"""Imaging appropriateness: facts of a scenario are held against variants; exactly one fits, or none."""

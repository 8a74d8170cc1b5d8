"""Appropriateness knowledge bases: topic > clinical variant > procedures rated 1-9."""

"""Finds passages that give different numbers for the same quantity."""

from gateway.contradictions.finder import find_contradictions
from gateway.contradictions.notices import contradiction_notices

__all__ = ["contradiction_notices", "find_contradictions"]

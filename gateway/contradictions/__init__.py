"""Finds passages that give different numbers for the same quantity."""

from gateway.contradictions.finder import find_contradictions
from gateway.contradictions.model import Contradiction, ContradictionSide, Newer

__all__ = ["Contradiction", "ContradictionSide", "Newer", "find_contradictions"]

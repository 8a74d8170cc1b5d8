"""What a question asks for, and whether a text holds it. Pure; for the generators and the gateway."""

from radref.asked.attributes import names_attribute
from radref.asked.quantities import holds
from radref.asked.question import Asked, read_question
from radref.asked.specifics import Specifics, read_specifics

__all__ = ["Asked", "Specifics", "holds", "names_attribute", "read_question", "read_specifics"]

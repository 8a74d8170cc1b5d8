"""Language tags (BCP 47) as far as retrieval looks into them."""

from __future__ import annotations


def primary_language(tag: str) -> str:
    """Primary subtag of a language tag in lower case: "sr-Latn-RS" -> "sr" (RFC 5646)."""
    return tag.split("-", 1)[0].lower()


def language_range(tag: str) -> list[str]:
    """A language tag and its prefixes in lower case, "sr-Latn-RS" -> sr, sr-latn, sr-latn-rs.

    A filter "sr" then matches all of them by equality (basic filtering, RFC 4647 section 3.3.1).
    """
    parts = tag.lower().split("-")
    return ["-".join(parts[: length + 1]) for length in range(len(parts))]

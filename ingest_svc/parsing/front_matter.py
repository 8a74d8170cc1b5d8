"""YAML front matter of Markdown files."""

from __future__ import annotations

from dataclasses import dataclass

import yaml

_MAX_FRONT_MATTER = 65536


@dataclass(frozen=True, slots=True)
class FrontMatter:
    """The text after the front matter, and its title."""

    body: str
    title: str = ""
    warning: str = ""


def split_front_matter(text: str) -> FrontMatter:
    """Takes off a leading `---` ... `---` block when it is a YAML mapping; anything else stays text.

    The title is its `title`, or the one of a mapping directly below it (`source: {title: ...}`).
    """
    stripped = text.lstrip("\ufeff \t\r\n")
    first, _, rest = stripped.partition("\n")
    if first.rstrip() != "---":
        return FrontMatter(text)
    lines = rest[:_MAX_FRONT_MATTER].split("\n")
    end = next((at for at, line in enumerate(lines) if line.rstrip() in {"---", "..."}), None)
    if end is None:
        return FrontMatter(text)
    block = "\n".join(lines[:end])
    try:
        # BaseLoader keeps scalars as written and makes no objects.
        values = yaml.load(block, Loader=yaml.BaseLoader)
    except (yaml.YAMLError, RecursionError):
        return FrontMatter(text, warning="The front matter is no valid YAML and was kept as text.")
    if not isinstance(values, dict):
        return FrontMatter(text)
    body = rest[len(block) :].partition("\n")[2] if not block else rest[len(block) + 1 :].partition("\n")[2]
    return FrontMatter(body, _title(values))


def _title(values: dict[object, object]) -> str:
    found = values.get("title")
    if isinstance(found, str) and found.strip():
        return " ".join(found.split())
    for value in values.values():
        if isinstance(value, dict):
            inner = value.get("title")
            if isinstance(inner, str) and inner.strip():
                return " ".join(inner.split())
    return ""

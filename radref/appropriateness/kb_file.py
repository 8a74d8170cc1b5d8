"""The knowledge base file (form appropriateness-kb/2) as variants; every mistake is told with its line."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

from radref.appropriateness.kb_nodes import NodeReader
from radref.appropriateness.kb_variant import Above, read_variant
from radref.appropriateness.model import Variant
from radref.appropriateness.yaml_nodes import LineProblem, compose, line_of
from radref.errors import InvalidInput

SCHEMA = "appropriateness-kb/2"
# Bytes. A thousand variants with long narratives have 5 MB.
MAX_FILE_BYTES = 20_000_000
# A long comment may come first.
_HEAD_BYTES = 65_536
_SCHEMA_LINE = re.compile(rb"^[\"']?schema[\"']?[ \t]*:[ \t]*[\"']?appropriateness-kb/", re.MULTILINE)
# More would scroll the first one away.
_MOST_TOLD = 200


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """A file's content.

    Attributes:
        version: as the file says.
        synthetic: the ratings are invented for testing: the version holds the word "synthetic", or the file
            says `synthetic: true`.
        variants: in the order of the file, at least one; each carries the version and the mark.
    """

    version: str
    synthetic: bool
    variants: tuple[Variant, ...]


def read_kb(path: Path) -> KnowledgeBase:
    """Reads and checks a knowledge base file.

    Raises:
        InvalidInput: it cannot be read, or is not a good one. The message then names every mistake, one a
            line, e.g. 'kb.yaml:26: rating of procedure 1 of variant "knee" is 12; ratings are 1 to 9'.
    """
    data = _content(path)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data.count(b"\n", 0, exc.start) + 1
        raise _refusal(path, [LineProblem(line, "is not UTF-8 text; save the file as UTF-8")]) from exc
    root, found = compose(text)
    reader = NodeReader()
    base = None if root is None else _read_file(reader, root)
    if base is None or found or reader.problems:
        raise _refusal(path, [*found, *reader.problems])
    return base


def looks_like_kb(path: Path) -> bool:
    """Whether a file says near its beginning that it is a knowledge base file, in whatever form."""
    if path.suffix.lower() not in (".yaml", ".yml"):
        return False
    try:
        with path.open("rb") as file:
            return _SCHEMA_LINE.search(file.read(_HEAD_BYTES)) is not None
    except OSError:
        return False


def _content(path: Path) -> bytes:
    try:
        if path.stat().st_size > MAX_FILE_BYTES:
            raise InvalidInput(
                f"{path} is larger than {MAX_FILE_BYTES // 1_000_000} MB, which no knowledge base file is.",
                reason="FILE_TOO_LARGE",
            )
        return path.read_bytes()
    except OSError as exc:
        raise InvalidInput(f"{path} cannot be read: {exc.strerror or exc}") from exc


def _refusal(path: Path, found: list[LineProblem]) -> InvalidInput:
    # What stands above the variants would be told once for each of them.
    told = sorted(set(found))
    lines = [f"{path.name}:{problem.line}: {problem.message}" for problem in told[:_MOST_TOLD]]
    if len(told) > _MOST_TOLD:
        lines.append(f"... and {len(told) - _MOST_TOLD} more")
    mistakes = "1 mistake" if len(told) == 1 else f"{len(told)} mistakes"
    return InvalidInput("\n".join([f"{path} has {mistakes}:", *lines]))


def _read_file(reader: NodeReader, root: yaml.Node) -> KnowledgeBase:
    keys = reader.keys(root, "the file", ("schema", "version", "topics"), ("synthetic",))
    if "schema" in keys:
        reader.choice(keys["schema"], "schema", (SCHEMA,))
    version = reader.text(keys["version"], "version") if "version" in keys else None
    synthetic = _synthetic(reader, keys.get("synthetic"), version or "")
    topics = reader.items(keys["topics"], "topics") if "topics" in keys else []
    topic_ids = _Ids(reader, "topic")
    variant_ids = _Ids(reader, "variant")
    variants: list[Variant] = []
    for number, node in enumerate(topics, start=1):
        where = reader.called(node, "topic", f"topic {number}")
        topic = reader.keys(node, where, ("id", "title", "variants"))
        topic_id = reader.text(topic["id"], f"id of {where}") if "id" in topic else None
        if topic_id:
            topic_ids.add(topic_id, topic["id"])
        title = reader.text(topic["title"], f"title of {where}") if "title" in topic else None
        above = Above(
            texts={"topic_id": topic_id, "topic_title": title, "kb_version": version},
            nodes={
                name: there[key]
                for name, there, key in (
                    ("topic_id", topic, "id"),
                    ("topic_title", topic, "title"),
                    ("kb_version", keys, "version"),
                )
                if key in there
            },
            synthetic=synthetic,
        )
        items = reader.items(topic["variants"], f"variants of {where}") if "variants" in topic else []
        for position, item in enumerate(items, start=1):
            variant = read_variant(reader, item, f"variant {position} of {where}", above)
            if variant is not None:
                variants.append(variant)
                variant_ids.add(variant.id, item)
    return KnowledgeBase(version or "", synthetic, tuple(variants))


def _synthetic(reader: NodeReader, node: yaml.Node | None, version: str) -> bool:
    """In doubt yes: an invented rating without its banner can hurt, a banner too many cannot."""
    named = "synthetic" in version.casefold()
    if node is None:
        return named
    said = reader.truth(node, "synthetic")
    if named and said is False:
        reader.note(node, f'synthetic is false, but the version is "{version}"')
    return named or said is not False


class _Ids:
    """Ids that may be there once."""

    def __init__(self, reader: NodeReader, kind: str) -> None:
        self._reader = reader
        self._kind = kind
        self._lines: dict[str, int] = {}

    def add(self, name: str, node: yaml.Node) -> None:
        if name and name in self._lines:
            self._reader.note(
                node, f'the {self._kind} id "{name}" is already that of line {self._lines[name]}'
            )
        self._lines.setdefault(name, line_of(node))

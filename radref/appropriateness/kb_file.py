"""Reads a knowledge base file (form appropriateness-kb/2), or tells every fault with its line.

schema: appropriateness-kb/2
version: "2026.1"
synthetic: false                    # optional; a version that ends in "-synthetic" says so too
topics:
  - id: headache
    title: Headache
    variants:
      - id: headache-thunderclap
        title: ...
        population: adult
        urgency: emergency          # routine, urgent or emergency
        criteria: {all: [...], any: [...], none: [...], assume: [...]}
        keywords: [...]
        narrative: ...
        procedures:
          - {id: ct-head-wo, name: CT head without IV contrast, rating: 9, rrl: medium, comment: ...}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from radref.appropriateness import rules
from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency, Variant
from radref.errors import InvalidInput

SCHEMA = "appropriateness-kb/2"
# No base comes near; it bounds what a file can cost.
MAX_BYTES = 20_000_000
_MOST_TOLD = 50
_SYNTHETIC_ENDING = "-synthetic"


@dataclass(frozen=True, slots=True)
class KnowledgeBase:
    """What a file holds: its version, whether it is invented for testing, and its variants in order."""

    version: str
    synthetic: bool
    variants: tuple[Variant, ...]


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong at a line, from 1."""

    line: int
    message: str


class KnowledgeBaseFaults(InvalidInput):
    """A file is not in the form. `faults` holds all of them, by line; the message the first 50."""

    def __init__(self, path: Path, faults: tuple[Fault, ...]) -> None:
        self.faults = faults
        told = "\n".join(f"{path}:{fault.line}: {fault.message}" for fault in faults[:_MOST_TOLD])
        rest = len(faults) - _MOST_TOLD
        super().__init__(told + (f"\n... and {rest} more" if rest > 0 else ""))


def read_kb(path: Path) -> KnowledgeBase:
    """The knowledge base in a file.

    Raises:
        KnowledgeBaseFaults: it is not in the form; every fault with its line.
        InvalidInput: it cannot be read, is no UTF-8 or too big.
    """
    try:
        data = path.read_bytes()
    except OSError as exc:
        raise InvalidInput(f"cannot read {path}: {exc.strerror}") from None
    if len(data) > MAX_BYTES:
        raise InvalidInput(f"{path} has {len(data)} bytes; at most {MAX_BYTES} are possible")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as exc:
        line = data[: exc.start].count(b"\n") + 1
        raise InvalidInput(f"{path}:{line}: it is not UTF-8 text") from None
    reader = _Reader()
    base = reader.read(text)
    if base is None or reader.faults:
        raise KnowledgeBaseFaults(path, tuple(sorted(reader.faults, key=lambda fault: fault.line)))
    return base


_VARIANT_KEYS = {
    "id": True, "title": True, "population": True, "urgency": True, "criteria": True, "keywords": False,
    "narrative": False, "procedures": True,
}  # fmt: skip
_PROCEDURE_KEYS = {"id": True, "name": True, "rating": True, "rrl": True, "comment": False}
_FIELD_NAMES = {"radiation_level": "rrl"}


class _Reader:
    """Walks the nodes of the YAML, which know their lines, and collects faults."""

    def __init__(self) -> None:
        self.faults: list[Fault] = []

    def read(self, text: str) -> KnowledgeBase | None:
        try:
            # Anchors and aliases are refused: they could blow a small file up.
            if any(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text, Loader=yaml.SafeLoader)):
                self.faults.append(Fault(1, "aliases (*name) are not possible here: write the text out"))
                return None
            root = yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.YAMLError as exc:
            mark = getattr(exc, "problem_mark", None)
            problem = getattr(exc, "problem", None) or "it is not YAML"
            self.faults.append(Fault(mark.line + 1 if mark else 1, f"it cannot be read as YAML: {problem}"))
            return None
        if root is None:
            self.faults.append(Fault(1, "the file is empty"))
            return None
        top = self._mapping(
            root, {"schema": True, "version": True, "synthetic": False, "topics": True}, "the file"
        )
        schema = self._text(top.get("schema"), "schema")
        if schema and schema != SCHEMA:
            self._fault(top["schema"], f'schema is {schema!r}; this release reads "{SCHEMA}"')
            return None
        version = self._text(top.get("version"), "version")
        synthetic = self._flag(top.get("synthetic")) or version.endswith(_SYNTHETIC_ENDING)
        variants = tuple(self._variants(top.get("topics"), version, synthetic))
        return KnowledgeBase(version, synthetic, variants)

    def _variants(self, topics: yaml.Node | None, version: str, synthetic: bool) -> Iterator[Variant]:
        topic_ids: dict[str, int] = {}
        variant_ids: dict[str, int] = {}
        for topic_node in self._items(topics, "topics"):
            topic = self._mapping(topic_node, {"id": True, "title": True, "variants": True}, "a topic")
            topic_id, title = self._text(topic.get("id"), "id"), self._text(topic.get("title"), "title")
            self._once(topic_ids, topic_id, topic.get("id"), "topic")
            for node in self._items(topic.get("variants"), "variants"):
                keys = self._mapping(node, _VARIANT_KEYS, "a variant")
                self._once(variant_ids, self._text(keys.get("id"), "id"), keys.get("id"), "variant")
                variant = self._variant(keys, topic_id, title, version, synthetic)
                if variant is not None:
                    self._check(variant, node, keys, topic)
                    yield variant

    def _variant(
        self, keys: Mapping[str, yaml.Node], topic_id: str, topic_title: str, version: str, synthetic: bool
    ) -> Variant | None:
        before = len(self.faults)
        urgency = self._choice(keys.get("urgency"), "urgency", [one.value for one in Urgency])
        criteria = self._mapping(keys.get("criteria"), dict.fromkeys(rules.CRITERIA_LISTS, False), "criteria")
        procedures = []
        for node in self._items(keys.get("procedures"), "procedures"):
            fields = self._mapping(node, _PROCEDURE_KEYS, "a procedure")
            level = self._choice(fields.get("rrl"), "rrl", [one.value for one in RadiationLevel])
            rating = self._whole_number(fields.get("rating"), "rating")
            if level and rating is not None:
                procedures.append(
                    Procedure(
                        self._text(fields.get("id"), "id"),
                        self._text(fields.get("name"), "name"),
                        rating,
                        RadiationLevel(level),
                        self._text(fields.get("comment"), "comment", may_be_empty=True),
                    )
                )
        variant_id = self._text(keys.get("id"), "id")
        title = self._text(keys.get("title"), "title")
        lists = {name: self._texts(criteria.get(name), f"criteria.{name}") for name in rules.CRITERIA_LISTS}
        keywords = self._texts(keys.get("keywords"), "keywords")
        population = self._text(keys.get("population"), "population")
        narrative = self._text(keys.get("narrative"), "narrative", may_be_empty=True)
        if len(self.faults) > before or not urgency:
            return None
        return Variant(
            id=variant_id,
            topic_id=topic_id,
            topic_title=topic_title,
            title=title,
            population=population,
            urgency=Urgency(urgency),
            criteria=Criteria(**lists),
            keywords=keywords,
            narrative=narrative,
            procedures=tuple(procedures),
            kb_version=version,
            synthetic=synthetic,
        )

    def _check(
        self, variant: Variant, node: yaml.Node, keys: Mapping[str, yaml.Node], topic: Mapping[str, yaml.Node]
    ) -> None:
        """What the rules of every variant say, at the line of the field."""
        for problem in rules.problems(variant):
            if problem.path[0] in ("topic_id", "topic_title"):
                place = topic.get("id" if problem.path[0] == "topic_id" else "title", node)
                name = "of the topic"
            else:
                place, name = _at(keys, problem.path, node), ".".join(map(str, problem.path))
            self._fault(place, f"variant {variant.id}: {name} {problem.message}")

    def _fault(self, node: yaml.Node | None, message: str) -> None:
        fault = Fault(node.start_mark.line + 1 if node is not None else 1, message)
        if fault not in self.faults:
            self.faults.append(fault)

    def _once(self, known: dict[str, int], value: str, node: yaml.Node | None, what: str) -> None:
        if value and node is not None:
            line = node.start_mark.line + 1
            if value in known and known[value] != line:
                self._fault(node, f"{what} {value!r} is there already, at line {known[value]}")
            known.setdefault(value, line)

    def _mapping(self, node: yaml.Node | None, keys: Mapping[str, bool], what: str) -> dict[str, yaml.Node]:
        """Nodes by key.

        Args:
            keys: those possible -> whether needed.
        """
        if node is None:
            return {}
        if not isinstance(node, yaml.MappingNode):
            self._fault(node, f"{what} must be keys with values ({', '.join(keys)})")
            return {}
        found: dict[str, yaml.Node] = {}
        for key_node, value in node.value:
            key = str(key_node.value) if isinstance(key_node, yaml.ScalarNode) else "?"
            if key not in keys:
                self._fault(key_node, f"{what} has the unknown key {key!r}; possible: {', '.join(keys)}")
            elif key in found:
                self._fault(key_node, f"{what} has the key {key!r} twice")
            else:
                found[key] = value
        for key, needed in keys.items():
            if needed and key not in found:
                self._fault(node, f"{what} lacks the key {key!r}")
        return found

    def _items(self, node: yaml.Node | None, name: str) -> list[yaml.Node]:
        if node is None:
            return []
        if not isinstance(node, yaml.SequenceNode):
            self._fault(node, f"{name} must be a list")
            return []
        if not node.value:
            self._fault(node, f"{name} is an empty list")
        return list(node.value)

    def _texts(self, node: yaml.Node | None, name: str) -> tuple[str, ...]:
        if node is None or (isinstance(node, yaml.SequenceNode) and not node.value):
            return ()
        return tuple(
            text
            for index, item in enumerate(self._items(node, name))
            if (text := self._text(item, f"{name}[{index}]"))
        )

    def _text(self, node: yaml.Node | None, name: str, *, may_be_empty: bool = False) -> str:
        """A text, tidied; YAML's own ideas of `no`, `1` or a date are told, since they would change it."""
        if node is None:
            return ""
        if not isinstance(node, yaml.ScalarNode):
            self._fault(node, f"{name} must be a text")
            return ""
        text = rules.tidy(node.value)
        if not text:
            if not may_be_empty:
                self._fault(node, f"{name} is empty")
            return ""
        if node.tag != "tag:yaml.org,2002:str":
            self._fault(node, f'{name} must be a text: put {node.value!r} into quotes ("{node.value}")')
        return text

    def _choice(self, node: yaml.Node | None, name: str, possible: list[str]) -> str:
        # YAML reads an unquoted `none` as a text, `null` as nothing.
        text = self._text(node, name)
        if node is not None and text and text not in possible:
            self._fault(node, f"{name} is {text!r}; possible: {', '.join(possible)}")
            return ""
        return text

    def _whole_number(self, node: yaml.Node | None, name: str) -> int | None:
        if node is None:
            return None
        value: Any = (
            yaml.safe_load(node.value) if isinstance(node, yaml.ScalarNode) and not node.style else None
        )
        if isinstance(value, bool) or not isinstance(value, int):
            self._fault(node, f"{name} must be a whole number from 1 to 9")
            return None
        return value

    def _flag(self, node: yaml.Node | None) -> bool:
        if node is None:
            return False
        if getattr(node, "tag", "") != "tag:yaml.org,2002:bool":
            self._fault(node, "synthetic must be true or false")
            return False
        return bool(yaml.safe_load(node.value))


def _at(keys: Mapping[str, yaml.Node], path: rules.Path, node: yaml.Node) -> yaml.Node:
    """The node of a field of a variant, as near as there is one."""
    place: yaml.Node = keys.get(_FIELD_NAMES.get(str(path[0]), str(path[0])), node)
    for step in path[1:]:
        if isinstance(step, int) and isinstance(place, yaml.SequenceNode) and step < len(place.value):
            place = place.value[step]
        elif isinstance(place, yaml.MappingNode):
            name = _FIELD_NAMES.get(str(step), str(step))
            place = next((value for key, value in place.value if key.value == name), place)
    return place

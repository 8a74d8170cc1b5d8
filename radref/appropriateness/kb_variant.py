"""One variant of a knowledge base file: its nodes as a Variant, checked by the rules."""

from __future__ import annotations

from dataclasses import dataclass, field

import yaml

from radref.appropriateness.kb_nodes import NodeReader
from radref.appropriateness.model import Criteria, Procedure, RadiationLevel, Urgency, Variant
from radref.appropriateness.rules import CRITERIA_LISTS, Path, problems

_KEYS = ("id", "title", "population", "urgency", "criteria", "procedures")
_OPTIONAL_KEYS = ("keywords", "narrative")
_KEYS_OF_PROCEDURE = ("id", "name", "rating", "rrl")
# What the file calls a field of the model.
_NAMES = {
    "topic_id": "id of the topic",
    "topic_title": "title of the topic",
    "kb_version": "version of the file",
}


@dataclass(frozen=True, slots=True)
class Above:
    """What a variant has from its topic and file: texts, and where they stand. None = was not good."""

    texts: dict[str, str | None]
    nodes: dict[str, yaml.Node]
    synthetic: bool


def read_variant(reader: NodeReader, node: yaml.Node, where: str, above: Above) -> Variant | None:
    """The variant of a node; what is wrong with it is noted, and its good fields are checked all the same.

    Args:
        where: names a variant without an id, e.g. "variant 2 of topic ...".
    """
    where = reader.called(node, "variant", where)
    keys = reader.keys(node, where, _KEYS, _OPTIONAL_KEYS)
    if not keys:
        return None
    reading = _Reading(reader, where, _Marks({(): node}))
    marks = reading.marks
    marks.wrong.update((name,) for name in _KEYS if name not in keys)
    for name, text in above.texts.items():
        marks.kept((name,), above.nodes.get(name, node), text)
    urgency = reading.choice(keys, "urgency", list(Urgency)) or Urgency.ROUTINE
    variant = Variant(
        id=reading.text(keys, "id"),
        topic_id=above.texts["topic_id"] or "",
        topic_title=above.texts["topic_title"] or "",
        title=reading.text(keys, "title"),
        population=reading.text(keys, "population"),
        urgency=Urgency(urgency),
        criteria=reading.criteria(keys.get("criteria")),
        keywords=reading.texts(keys.get("keywords"), ("keywords",), "keywords"),
        narrative=reading.text(keys, "narrative", may_be_empty=True),
        procedures=reading.procedures(keys.get("procedures")),
        kb_version=above.texts["kb_version"] or "",
        synthetic=above.synthetic,
    )
    for problem in problems(variant):
        if not marks.told(problem.path):
            place = _NAMES.get(str(problem.path[-1])) or f"{_named(problem.path)} of {reading.where}"
            reader.note(marks.node(problem.path), f"{place} {problem.message}")
    return variant


@dataclass(slots=True)
class _Marks:
    """Where each field of a variant stands, and which of them were noted as wrong already."""

    nodes: dict[Path, yaml.Node]
    wrong: set[Path] = field(default_factory=set)

    def kept(self, path: Path, node: yaml.Node, value: str | None) -> str:
        """`value` with its place; empty for a wrong one: the fields beside it can still be checked."""
        self.nodes[path] = node
        if value is None:
            self.wrong.add(path)
        return value or ""

    def node(self, path: Path) -> yaml.Node:
        """Where a field stands, or what it should stand in."""
        while path not in self.nodes:
            path = path[:-1]
        return self.nodes[path]

    def told(self, path: Path) -> bool:
        """Whether the field, something in it or what it stands in was noted."""
        return any(wrong[: len(path)] == path or path[: len(wrong)] == wrong for wrong in self.wrong)


@dataclass(slots=True)
class _Reading:
    """The fields of one variant."""

    reader: NodeReader
    where: str
    marks: _Marks

    def text(
        self, keys: dict[str, yaml.Node], name: str, within: Path = (), *, may_be_empty: bool = False
    ) -> str:
        if name not in keys:
            return ""
        path = (*within, name)
        value = self.reader.text(keys[name], self._place(path), may_be_empty=may_be_empty)
        return self.marks.kept(path, keys[name], value)

    def choice(
        self, keys: dict[str, yaml.Node], name: str, allowed: list[str], within: Path = ()
    ) -> str | None:
        if name not in keys:
            return None
        return self.reader.choice(keys[name], self._place((*within, name)), allowed)

    def texts(self, node: yaml.Node | None, path: Path, name: str) -> tuple[str, ...]:
        if node is None:
            return ()
        self.marks.nodes[path] = node
        texts = tuple(
            self.marks.kept((*path, index), item, text)
            for index, (item, text) in enumerate(self.reader.texts(node, f"{name} of {self.where}"))
        )
        if not texts:
            self.marks.wrong.add(path)
        return texts

    def criteria(self, node: yaml.Node | None) -> Criteria:
        if node is None:
            return Criteria()
        self.marks.nodes[("criteria",)] = node
        if not isinstance(node, yaml.MappingNode):
            self.marks.wrong.add(("criteria",))
        keys = self.reader.keys(node, f"criteria of {self.where}", (), CRITERIA_LISTS)
        return Criteria(
            **{name: self.texts(keys.get(name), ("criteria", name), f'"{name}"') for name in CRITERIA_LISTS}
        )

    def procedures(self, node: yaml.Node | None) -> tuple[Procedure, ...]:
        if node is None:
            return ()
        self.marks.nodes[("procedures",)] = node
        items = self.reader.items(node, f"procedures of {self.where}")
        if not items:
            self.marks.wrong.add(("procedures",))
        return tuple(self._procedure(item, index) for index, item in enumerate(items))

    def _procedure(self, node: yaml.Node, index: int) -> Procedure:
        path: Path = ("procedures", index)
        self.marks.nodes[path] = node
        keys = self.reader.keys(
            node, f"procedure {index + 1} of {self.where}", _KEYS_OF_PROCEDURE, ("comment",)
        )
        self.marks.wrong.update((*path, name) for name in _KEYS_OF_PROCEDURE if name not in keys)
        level = self.choice(keys, "rrl", list(RadiationLevel), path)
        return Procedure(
            id=self.text(keys, "id", path),
            name=self.text(keys, "name", path),
            rating=self._rating(keys.get("rating"), (*path, "rating")),
            radiation_level=RadiationLevel(level or RadiationLevel.NONE),
            comment=self.text(keys, "comment", path, may_be_empty=True),
        )

    def _rating(self, node: yaml.Node | None, path: Path) -> int:
        if node is None:
            return 0
        rating = self.reader.integer(node, self._place(path))
        self.marks.kept(path, node, None if rating is None else str(rating))
        return rating or 0

    def _place(self, path: Path) -> str:
        return f"{_named(path)} of {self.where}"


def _named(path: Path) -> str:
    """A field as a curator calls it, e.g. "rating of procedure 2", 'item 3 of "none"'."""
    match path:
        case ("procedures", int(index), name):
            return f"{name} of procedure {index + 1}"
        case ("criteria", str(name), int(index)):
            return f'item {index + 1} of "{name}"'
        case ("criteria", str(name)):
            return f'"{name}"'
        case (name, int(index)):
            return f"item {index + 1} of {name}"
    return str(path[-1])

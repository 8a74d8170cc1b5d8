"""Sets of scenarios and probes: YAML, schema appropriateness-eval/1.

schema: appropriateness-eval/1
scenarios:          # an answer is expected: this variant, and as its best procedure this one
  - {id: D01, query: "...", variant: headache-thunderclap, top_procedure: ct-head-wo}
probes:             # an abstention, or for terse but legitimate questions an answer
  - {id: DP1, query: "...", expect: abstain, note: trauma}
  - {id: DT1, query: "...", expect: answer, variant: lbp-cauda-equina}

`kb`, `language` and `tags` may stand at the top; `language`, `tags` and `note` in every item.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import yaml

from radref.errors import InvalidInput

SCHEMA = "appropriateness-eval/1"
# Of ConsultRequest.
MAX_QUERY_CHARACTERS = 4000
_TOP_KEYS = frozenset({"schema", "scenarios", "probes", "kb", "language", "tags"})
_TOLERATED = frozenset({"note", "language", "tags"})
_SCENARIO_KEYS = frozenset({"id", "query", "variant", "top_procedure"})
_PROBE_KEYS = frozenset({"id", "query", "expect", "variant"})
_NULL = "tag:yaml.org,2002:null"


@dataclass(frozen=True, slots=True)
class Item:
    """A scenario or probe.

    Attributes:
        variant: id of the variant that answers it; "" where an abstention is expected.
        top_procedure: id of its best procedure; "" for probes.
        language, tags: as the set says, "" and () where it does not.
        line: where it stands in the file, from 1.
    """

    id: str
    kind: Literal["scenario", "probe"]
    query: str
    expect: Literal["answer", "abstain"]
    variant: str
    top_procedure: str
    language: str
    tags: tuple[str, ...]
    line: int


def load_scenarios(path: Path) -> list[Item]:
    """Reads a set, scenarios first, each kind in the order of the file.

    Raises:
        InvalidInput: the file is missing, no YAML of this form, an id repeats, or the set is empty. The
            message names the line, and the item where it has an id.
    """
    try:
        root = yaml.compose(path.read_text(encoding="utf-8-sig"), Loader=yaml.SafeLoader)
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"Cannot read the scenario set {path}: {error}", field="set") from error
    except yaml.MarkedYAMLError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise InvalidInput(f"{path.name}, line {line}: {error.problem}", field="set") from error
    except yaml.YAMLError as error:
        raise InvalidInput(f"{path.name} is not YAML: {error}", field="set") from error
    if root is None:
        raise InvalidInput(f"The scenario set {path.name} is empty", field="set")
    try:
        items = _items(root)
    except _Fault as fault:
        raise InvalidInput(f"{path.name}, line {fault.line}: {fault}", field="set") from None
    if not items:
        raise InvalidInput(f"The scenario set {path.name} holds neither scenarios nor probes", field="set")
    return items


class _Fault(Exception):
    def __init__(self, node: yaml.Node, what: str) -> None:
        super().__init__(what)
        self.line = node.start_mark.line + 1


def _items(root: yaml.Node) -> list[Item]:
    top = _mapping(root, "the set")
    _only(top, _TOP_KEYS, "the set")
    schema = _required(top, "schema", root, "the set")
    if schema != SCHEMA:
        raise _Fault(top["schema"], f"the schema {schema} is not {SCHEMA}")
    items = [_scenario(node) for node in _list(top, "scenarios")]
    items += [_probe(node) for node in _list(top, "probes")]
    seen: dict[str, int] = {}
    for item, node in zip(items, [*_list(top, "scenarios"), *_list(top, "probes")], strict=True):
        if item.id in seen:
            raise _Fault(node, f"the id {item.id} repeats, it stands in line {seen[item.id]} too")
        seen[item.id] = item.line
    return items


def _scenario(node: yaml.Node) -> Item:
    fields = _mapping(node, "a scenario")
    name = _name(fields, node)
    _only(fields, _SCENARIO_KEYS | _TOLERATED, name)
    return Item(
        id=_required(fields, "id", node, name),
        kind="scenario",
        query=_query(fields, node, name),
        expect="answer",
        variant=_required(fields, "variant", node, name),
        top_procedure=_required(fields, "top_procedure", node, name),
        language=_language(fields, node, name),
        tags=_tags(fields, name),
        line=node.start_mark.line + 1,
    )


def _probe(node: yaml.Node) -> Item:
    fields = _mapping(node, "a probe")
    name = _name(fields, node)
    _only(fields, _PROBE_KEYS | _TOLERATED, name)
    expect: Literal["answer", "abstain"]
    match _required(fields, "expect", node, name):
        case "answer":
            expect = "answer"
        case "abstain":
            expect = "abstain"
        case other:
            raise _Fault(fields["expect"], f"{name}: expect is answer or abstain, not {other}")
    if expect == "abstain" and "variant" in fields:
        raise _Fault(fields["variant"], f"{name}: no variant answers a probe that expects an abstention")
    return Item(
        id=_required(fields, "id", node, name),
        kind="probe",
        query=_query(fields, node, name),
        expect=expect,
        variant=_required(fields, "variant", node, name) if expect == "answer" else "",
        top_procedure="",
        language=_language(fields, node, name),
        tags=_tags(fields, name),
        line=node.start_mark.line + 1,
    )


def _mapping(node: yaml.Node, what: str) -> dict[str, yaml.Node]:
    if not isinstance(node, yaml.MappingNode):
        raise _Fault(node, f"{what} is expected to be a mapping of keys")
    fields: dict[str, yaml.Node] = {}
    for key, value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise _Fault(key, "a key is a plain word")
        # The loader of the library takes the last one without a word.
        if key.value in fields:
            raise _Fault(key, f"the key {key.value} repeats")
        fields[key.value] = value
    return fields


def _name(fields: dict[str, yaml.Node], node: yaml.Node) -> str:
    return _required(fields, "id", node, "an item")


def _only(fields: dict[str, yaml.Node], known: frozenset[str], name: str) -> None:
    for key, node in fields.items():
        if key not in known:
            raise _Fault(node, f"{name}: unknown key {key}; known are {', '.join(sorted(known))}")


def _required(fields: dict[str, yaml.Node], key: str, node: yaml.Node, name: str) -> str:
    if key not in fields:
        raise _Fault(node, f"{name}: the key {key} is missing")
    return _text(fields[key], key, name)


def _text(node: yaml.Node, key: str, name: str) -> str:
    if not isinstance(node, yaml.ScalarNode) or node.tag == _NULL or not node.value.strip():
        raise _Fault(node, f"{name}: {key} must be a text that is not empty")
    return str(node.value)


def _query(fields: dict[str, yaml.Node], node: yaml.Node, name: str) -> str:
    query = _required(fields, "query", node, name)
    if len(query) > MAX_QUERY_CHARACTERS:
        raise _Fault(fields["query"], f"{name}: a query has at most {MAX_QUERY_CHARACTERS} characters")
    return query


def _language(fields: dict[str, yaml.Node], node: yaml.Node, name: str) -> str:
    return _required(fields, "language", node, name) if "language" in fields else ""


def _tags(fields: dict[str, yaml.Node], name: str) -> tuple[str, ...]:
    if isinstance(fields.get("tags"), yaml.ScalarNode):
        return (_text(fields["tags"], "tags", name),)
    return tuple(_text(node, "tags", name) for node in _list(fields, "tags"))


def _list(fields: dict[str, yaml.Node], key: str) -> Iterator[yaml.Node]:
    if key not in fields:
        return iter(())
    node = fields[key]
    if not isinstance(node, yaml.SequenceNode):
        raise _Fault(node, f"{key} is expected to be a list")
    return iter(node.value)

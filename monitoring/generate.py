"""Writes dashboards, rules and the table of docs/alerts.md: `python -m monitoring.generate [--check]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from monitoring.alert_table import with_table
from monitoring.catalogue import BOARDS, GROUPS
from monitoring.dashboards.board import grafana_json
from monitoring.rules import prometheus_rule, rule_file

ROOT = Path(__file__).parents[1]
DASHBOARDS, ALERTS = Path("k8s/base/dashboards"), Path("k8s/base/alerts")
# The same rules for a Prometheus without the operator, and for promtool.
RULE_FILES = Path("monitoring/rule_files")
TABLE = Path("docs/alerts.md")
# A name that cannot be someone's: a site says where it serves docs/runbooks (docs/alerts.md).
RUNBOOKS = "https://runbooks.example.org/radref"
_NOTE = "# Written by `make monitoring` from monitoring/; edit that.\n"


def files(runbooks: str = RUNBOOKS) -> dict[Path, str]:
    """All generated files, by path in the repository.

    Args:
        runbooks: URL under which docs/runbooks is served.
    """
    made = {DASHBOARDS / f"{board.uid}.json": grafana_json(board) for board in BOARDS}
    for group in GROUPS:
        made[ALERTS / f"{group.name}.yaml"] = _NOTE + _yaml(prometheus_rule(group, runbooks))
        made[RULE_FILES / f"{group.name}.yaml"] = _NOTE + _yaml(rule_file(group, runbooks))
    made[TABLE] = with_table((ROOT / TABLE).read_text("utf-8"), GROUPS)
    return made


def stale(wanted: Mapping[Path, str], root: Path = ROOT) -> list[Path]:
    """Files that are not as they should be, and those in the generated folders that should not be."""
    wrong = [
        path
        for path, text in wanted.items()
        if not (root / path).is_file() or (root / path).read_text("utf-8") != text
    ]
    found = [
        path.relative_to(root)
        for folder, pattern in ((DASHBOARDS, "*.json"), (ALERTS, "*.yaml"), (RULE_FILES, "*.yaml"))
        for path in (root / folder).glob(pattern)
        # k8s/base may be made of components, with a list of what is in them.
        if path.name != "kustomization.yaml"
    ]
    return sorted([*wrong, *(path for path in found if path not in wanted)])


class _Dumper(yaml.SafeDumper):
    """Queries of several lines as blocks: they are read by people at night."""


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|" if "\n" in text else None)


_Dumper.add_representer(str, _text)


def _yaml(content: Mapping[str, Any]) -> str:
    return yaml.dump(content, Dumper=_Dumper, sort_keys=False, width=4096, allow_unicode=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    parser.add_argument("--runbooks", default=RUNBOOKS, help="URL under which docs/runbooks is served")
    arguments = parser.parse_args()
    wanted = files(arguments.runbooks)
    wrong = stale(wanted)
    if arguments.check:
        if wrong:
            sys.exit("stale, run `make monitoring`:\n" + "\n".join(map(str, wrong)))
        return
    for path in wrong:
        if path in wanted:
            (ROOT / path).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / path).write_text(wanted[path], "utf-8")
        else:
            (ROOT / path).unlink()
        print(path)


if __name__ == "__main__":
    main()

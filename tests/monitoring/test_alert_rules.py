"""Every alert fires when it should and not when it should not, and has a page that says what to do."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from monitoring.catalogue import alerts
from monitoring.generate import RULE_FILES
from tests.monitoring.queries import ROOT

RULE_TESTS = Path(__file__).parent / "rule_tests"
RUNBOOKS = ROOT / "docs/runbooks"
NAMES = sorted({alert.name for alert in alerts()})
SECTIONS = ("What it means", "What users see", "First checks", "Causes", "Mending", "Escalation")
needs_promtool = pytest.mark.skipif(
    shutil.which("promtool") is None, reason="promtool is not installed (Debian package prometheus)"
)


@needs_promtool
def test_rule_files_are_valid() -> None:
    result = _promtool("check", "rules", *map(str, sorted((ROOT / RULE_FILES).glob("*.yaml"))))
    assert result.returncode == 0, result.stdout + result.stderr


@needs_promtool
@pytest.mark.parametrize("path", sorted(RULE_TESTS.glob("*.yaml")), ids=lambda path: path.name)
def test_rules_behave(path: Path) -> None:
    result = _promtool("test", "rules", str(path))
    assert result.returncode == 0, result.stdout + result.stderr


def test_every_alert_is_seen_firing_and_not_firing() -> None:
    seen: dict[tuple[str, str], set[bool]] = {}
    for path in RULE_TESTS.glob("*.yaml"):
        for case in _cases(path):
            for asked in case["alert_rule_test"]:
                firing = {expected["exp_labels"]["severity"] for expected in asked["exp_alerts"]}
                for severity in ("critical", "warning"):
                    seen.setdefault((asked["alertname"], severity), set()).add(severity in firing)
    for alert in alerts():
        assert seen.get((alert.name, alert.severity)) == {True, False}, f"{alert.name} {alert.severity}"


def test_every_alert_has_a_page_and_every_page_an_alert() -> None:
    assert sorted(path.stem for path in RUNBOOKS.glob("*.md")) == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_pages_have_all_sections_and_commands(name: str) -> None:
    page = (RUNBOOKS / f"{name}.md").read_text("utf-8")
    assert page.startswith(f"# {name}\n")
    assert tuple(re.findall(r"^## (.+)$", page, re.MULTILINE)) == SECTIONS
    first_checks = page.partition("## First checks")[2].partition("## Causes")[0]
    assert "```" in first_checks, "first checks are exact commands or queries"


def _cases(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(path.read_text("utf-8"))["tests"]
    return found


def _promtool(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["promtool", *arguments], capture_output=True, text=True, timeout=300)

"""`radref config check`: the effective settings of every service, secrets masked."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from pathlib import Path
from typing import Annotated

import typer
import yaml

from radref.cli.output import out, problem
from radref.service.settings import SECTIONS, ServiceSettings, SettingsError, read_config_file

app = typer.Typer(help="Settings.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Settings."""


@app.command()
def check(
    config: Annotated[Path | None, typer.Option(help="Settings file; default: RADREF_CONFIG.")] = None,
    service: Annotated[list[str] | None, typer.Option(help="Only this service; may be repeated.")] = None,
) -> None:
    """Print the effective settings of file and environment; exit code 2 and every fault when unusable."""
    faults: list[str] = []
    unknown = sorted(set(service or ()) - set(SECTIONS))
    if unknown:
        faults.append(f"there is no service {', '.join(unknown)}; known: {', '.join(SECTIONS)}")
    effective: dict[str, object] = {}
    for entry in entry_points(group="radref.settings"):
        if service and entry.name not in service:
            continue
        try:
            settings: type[ServiceSettings] = entry.load()
            effective[entry.name] = settings.load(config).masked()
        except ModuleNotFoundError as exc:
            faults.append(f"{entry.name}: not installed here (no module {exc.name})")
        except SettingsError as exc:
            faults += str(exc).splitlines()
    if config is not None:
        try:
            read_config_file(config)
        except SettingsError as exc:
            faults += str(exc).splitlines()
    if faults:
        for fault in dict.fromkeys(faults):
            problem(fault)
        raise typer.Exit(2)
    # Through JSON: enums, tuples and sets become plain YAML.
    plain = json.loads(json.dumps(effective, default=str))
    out.print(yaml.safe_dump(plain, sort_keys=False, allow_unicode=True), markup=False, end="")

"""`radref eval consult`, from options to result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from rich.console import Console

from evaluation.consult.expectations import expectations
from evaluation.consult.figures import consult_figures
from evaluation.consult.gate_curve import GateCurve, gate_curve
from evaluation.consult.gate_plot import gate_svg
from evaluation.consult.item_rows import item_rows
from evaluation.consult.load_base import load_base, other_variants
from evaluation.consult.run import run_scenarios, warm_up
from evaluation.consult.scenario_set import load_scenarios
from evaluation.ingest_corpus import UploadResult
from evaluation.progress import progress_on
from evaluation.results import file_fingerprint, result_meta
from evaluation.system import Target, open_system
from radref.appropriateness.kb_file import read_kb
from radref.errors import InvalidInput

# Settings of the own system, by profile.
PROFILES: Mapping[str, Mapping[str, str]] = {
    "default": {"gateway.consult.profile": "default"},
    "paper": {"gateway.consult.profile": "paper", "retrieval.profile.name": "paper"},
}
# How a running system is named in results when nobody says its profile.
UNNAMED = "as served"


@dataclass(frozen=True, slots=True)
class ConsultOptions:
    """Options of `radref eval consult`; see its help."""

    kb: Path
    scenario_set: Path
    runs: int
    profile: str | None
    data_dir: Path | None
    target: Target | None
    timeout: float


@dataclass(frozen=True, slots=True)
class ConsultMeasurement:
    """What is written and shown: the result for --json, the plot as SVG."""

    result: dict[str, Any]
    plot: str


async def measure_consult(options: ConsultOptions, console: Console) -> ConsultMeasurement:
    """Loads the base where it may, asks every item, computes the figures.

    Args:
        options: what to measure.
        console: for progress and warnings.

    Raises:
        RadrefError: input that cannot be read or does not fit together, a variant that is refused, a system
            that does not start, or too many failed calls.
    """
    base = read_kb(options.kb)
    expected = expectations(load_scenarios(options.scenario_set), base, options.scenario_set.name)
    profile, settings = _profile(options)
    others: list[str] = []
    results: list[UploadResult] | None = None
    async with open_system(options.target, options.data_dir, console, settings=settings) as system:
        if system.can_ingest:
            results = await load_base(system.client, base, console)
            others = await other_variants(system.client, results)
        if others:
            console.print(
                f"The system holds {len(others)} variants of another base, too: answers may come from them.",
                style="yellow",
            )
        await warm_up(system.client, expected[0].item.query, timeout=options.timeout)
        with progress_on(console) as progress:
            bar = progress.add_task("Consulting", total=len(expected) * options.runs)
            seen = await run_scenarios(
                system.client,
                expected,
                runs=options.runs,
                timeout=options.timeout,
                on_done=lambda: progress.advance(bar),
            )
    if seen.failures.count:
        console.print(f"{seen.failures.count} calls failed and are in no figure: {seen.failures.summary()}")
    meta = result_meta(
        versions=seen.versions,
        settings={
            "set": file_fingerprint(options.scenario_set),
            "kb": {
                **file_fingerprint(options.kb),
                "version": base.version,
                "synthetic": base.synthetic,
                "variants": len(base.variants),
            },
            "runs": options.runs,
            "target": asdict(options.target) if options.target else None,
            "stack": dict(settings),
            "timeout_seconds": options.timeout,
        },
        uploads=results,
        errors=seen.failures.reasons,
    )
    meta["other_variants"] = others
    result = {
        "profile": profile,
        **consult_figures(expected, seen.runs),
        "items": item_rows(expected, seen.runs),
        "meta": meta,
    }
    curve = gate_curve(expected, seen.runs[0])
    return ConsultMeasurement(result, gate_svg(curve, _note(options, profile, curve)))


def _profile(options: ConsultOptions) -> tuple[str, Mapping[str, str]]:
    """Its name for the result, and the settings of the own system; a running one's are its own business."""
    if options.target is not None:
        return options.profile or UNNAMED, {}
    profile = options.profile or "default"
    if profile not in PROFILES:
        raise InvalidInput(
            f"--profile of the own system is one of {', '.join(PROFILES)}, not {profile}", field="profile"
        )
    return profile, PROFILES[profile]


def _note(options: ConsultOptions, profile: str, curve: GateCurve) -> str:
    counts = f"{len(curve.scenarios)} scenarios, {len(curve.probes)} probes"
    return f"profile {profile}, {options.scenario_set.name} over {options.kb.name}: {counts}"

"""Ids of workflows: one for every run of a job, so that handing a run over twice starts it once. Pure."""

from __future__ import annotations

from ingest_svc.registry.jobs import QueuedRun

# The shape of the workflow: which steps follow which under what names. Changed with the shape only, never by
# a release as such: runs of the same shape go on after an upgrade, runs of another one start anew.
WORKFLOW_VERSION = "1"


def workflow_id(run: QueuedRun) -> str:
    """Id of a run under this version of the workflow."""
    return f"{run.job_id}:{run.run}:v{WORKFLOW_VERSION}"


def job_id_of(workflow_id: str) -> str:
    """Which job a workflow runs."""
    return workflow_id.split(":", 1)[0]

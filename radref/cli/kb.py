"""`radref kb ...`: the knowledge base's life."""

from __future__ import annotations

import typer

from radref.cli import (
    kb_change,
    kb_diff,
    kb_history,
    kb_jobs,
    kb_list,
    kb_review,
    kb_show,
    kb_sources,
    kb_upkeep,
    kb_variants,
)

app = typer.Typer(help="Review, versions and upkeep of the documents.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Review, versions and upkeep of the documents."""


app.command("list")(kb_list.list_documents)
app.command("show")(kb_show.show)
app.command("approve")(kb_review.approve)
app.command("reject")(kb_review.reject)
app.command("replace")(kb_change.replace)
app.command("rollback")(kb_change.rollback)
app.command("withdraw")(kb_change.withdraw)
app.command("history")(kb_history.history)
app.command("diff")(kb_diff.diff)
app.command("verify")(kb_upkeep.verify)
app.command("reembed")(kb_upkeep.reembed)
app.command("sources")(kb_sources.sources)
app.command("audit")(kb_history.audit)
app.command("load-variants")(kb_variants.load_variants)
app.command("check-variants")(kb_variants.check_variants)
app.command("watch")(kb_jobs.watch)
app.command("retry")(kb_jobs.retry)

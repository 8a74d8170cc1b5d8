"""The `radref` command. Other packages add commands through the entry-point group `radref.commands`."""

from __future__ import annotations

import os
import sys
from importlib.metadata import entry_points

import typer

from radref import __version__
from radref.cli import audit, backup, config, demo, documents, feedback, kb, questions, status, up
from radref.cli.consult import consult
from radref.cli.output import err, explain, problem
from radref.errors import InvalidInput, NotFound, RadrefError

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"radref {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: bool = typer.Option(
        False, "--version", callback=_version, is_eager=True, help="Print the version."
    ),
) -> None:
    """radref: cited, checked answers from a radiology department's own knowledge base."""


app.command()(up.up)
app.command()(documents.ingest)
app.command()(questions.ask)
app.command()(consult)
app.command()(questions.search)
app.command()(questions.source)
app.command()(feedback.feedback)
app.command()(status.status)
app.command()(documents.parse)
app.command()(backup.backup)
app.command()(backup.restore)
app.command()(demo.demo)
app.add_typer(kb.app, name="kb")
app.add_typer(audit.app, name="audit")
app.add_typer(config.app, name="config")


def _add_commands_of_other_packages() -> None:
    for entry in entry_points(group="radref.commands"):
        try:
            loaded = entry.load()
        except ModuleNotFoundError as exc:
            # Its extra is not installed: the command says so when it is used.
            _add_missing(entry.name, exc.name or "?")
            continue
        # A group of commands, or a function that is one.
        if isinstance(loaded, typer.Typer):
            app.add_typer(loaded, name=entry.name)
        else:
            app.command(entry.name)(loaded)


def _add_missing(name: str, module: str) -> None:
    def missing() -> None:
        err.print(f"error: this command needs the extra {name!r} (no module {module})", markup=False)
        raise typer.Exit(2)

    app.command(name, help=f"(needs the extra {name!r})")(missing)


def main() -> None:
    """Exit codes: 0 done (an abstention is a result), 1 failed, 2 the request itself was wrong."""
    # gRPC writes fork and polling notes to standard error; they are not for users.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    _add_commands_of_other_packages()
    try:
        app()
    except UnicodeEncodeError:
        # The API takes UTF-8; bytes of the command line that are not arrive as lone surrogates.
        if all(argument.isprintable() for argument in sys.argv):
            raise
        problem("an argument is not valid UTF-8")
        sys.exit(2)
    except RadrefError as exc:
        explain(exc)
        sys.exit(2 if isinstance(exc, (InvalidInput, NotFound)) else 1)


if __name__ == "__main__":
    main()

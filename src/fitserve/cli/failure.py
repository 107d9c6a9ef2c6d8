"""The rim: every failure becomes three parts (what, evidence, next command) or one JSON document, and an exit code."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence

import click

from fitserve.errors import FitserveError, Interrupted, SettingsError
from fitserve.text import tr


def told(command: click.Command, args: Sequence[str] | None = None) -> int:
    """Run a click command and return the exit code. Failures go to stderr, with `--json` to stdout."""
    argv = list(sys.argv[1:] if args is None else args)
    try:
        result = command.main(argv, prog_name="fitserve", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except FitserveError as error:
        return _tell(error, argv)
    except click.UsageError as error:
        hint = f"{error.ctx.command_path} --help" if error.ctx else "fitserve --help"
        return _tell(SettingsError(error.format_message(), hint=hint), argv)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _tell(Interrupted(tr("failure.interrupted")), argv)
    except BrokenPipeError:
        sys.stderr.close()
        return 1
    except Exception as error:  # noqa: BLE001 - the last rim: a bug is told as one, with a way to report it
        return _tell(_bug(error), argv)


def _bug(error: Exception) -> FitserveError:
    """An unforeseen error as a sentence with its place; FITSERVE_TRACEBACK=1 shows the whole."""
    import os
    import traceback

    if os.environ.get("FITSERVE_TRACEBACK"):
        traceback.print_exc()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__}: {error} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})"
    return FitserveError(tr("failure.bug"), code="bug", evidence=where, hint=tr("failure.bug_hint"))


def _tell(error: FitserveError, argv: Sequence[str]) -> int:
    if "--json" in argv:
        body = {"code": error.code, "message": error.message, "evidence": error.evidence, "hint": error.hint}
        print(json.dumps({"schema_version": 1, "kind": "error", "error": body}, ensure_ascii=False))  # noqa: T201
        return error.exit_code
    click.echo(click.style(tr("failure.error"), fg="red", bold=True) + " " + error.message, err=True)
    if error.evidence:
        click.echo(f"  {tr('failure.evidence')} {error.evidence}", err=True)
    if error.hint:
        click.echo(f"  {tr('failure.next')} {error.hint}", err=True)
    return error.exit_code

"""The rim: every failure becomes three parts (what, evidence, next command) or one JSON document, and an exit code."""

from __future__ import annotations

import contextlib
import errno
import json
import os
import sys
from collections.abc import Sequence
from typing import TextIO

import click

from fitserve.errors import FitserveError, Interrupted, OperationFailed, SettingsError
from fitserve.text import tr

_REFUSALS = (errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT)  # of a file: not a bug of ours
_STREAM_TROUBLE = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EDQUOT, errno.EBADF)


def told(command: click.Command, args: Sequence[str] | None = None) -> int:
    """Run a click command and return the exit code. Failures go to stderr, with `--json` to stdout."""
    argv = list(sys.argv[1:] if args is None else args)
    try:
        code = _told(command, argv)
        sys.stdout.flush()  # a full disk shows here, not after the last of our sentences
    except BrokenPipeError:
        _mute(sys.stdout)
        return 1
    except OSError as error:
        _mute(sys.stdout)
        lost = OperationFailed(tr("failure.output_lost"), code="output_lost", evidence=error.strerror or str(error))
        with contextlib.suppress(OSError):  # perhaps nobody can be told anything
            _tell(lost, argv, as_json=False)
        return 1
    return code


def _told(command: click.Command, argv: list[str]) -> int:
    """Raises OSError where the answer itself can't be written."""
    try:
        result = command.main(argv, prog_name="fitserve", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except FitserveError as error:
        return _tell(error, argv)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message(), err=True)
        return SettingsError.exit_code
    except click.UsageError as error:
        if error.ctx and error.message == tr("click.missing_command"):  # `--lang zh` alone is as bare as nothing
            click.echo(error.ctx.get_help(), err=True)
            return SettingsError.exit_code
        hint = f"{error.ctx.command_path} --help" if error.ctx else "fitserve --help"
        return _tell(SettingsError(error.format_message(), hint=hint), argv)
    except click.exceptions.Exit as error:
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return _tell(Interrupted(tr("failure.interrupted")), argv)
    except Exception as error:  # noqa: BLE001 - the last rim: a bug is told as one, with a way to report it
        return _tell(_unforeseen(error), argv)


def _unforeseen(error: Exception) -> FitserveError:
    """What no one below has mapped. Raises it again where it is a stream that can't be written."""
    if isinstance(error, OSError) and error.filename and error.errno in _REFUSALS:
        evidence = f"{error.filename}: {error.strerror}"
        return OperationFailed(tr("failure.file_refused"), code="file_refused", evidence=evidence)
    if isinstance(error, OSError) and error.errno in _STREAM_TROUBLE:
        raise error
    return _bug(error)


def _mute(stream: TextIO) -> None:
    """What still waits to be written goes nowhere, so that the interpreter does not complain of it at its end."""
    with contextlib.suppress(OSError, ValueError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def _bug(error: Exception) -> FitserveError:
    """An unforeseen error as a sentence with its place; FITSERVE_TRACEBACK=1 shows the whole."""
    import traceback

    if os.environ.get("FITSERVE_TRACEBACK"):
        traceback.print_exc()
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{type(error).__name__}: {error} ({frame.filename.rsplit('/', 1)[-1]}:{frame.lineno})"
    return FitserveError(tr("failure.bug"), code="bug", evidence=where, hint=tr("failure.bug_hint"))


def _wants_json(argv: Sequence[str]) -> bool:
    """What stands behind `--` is the engine's."""
    ours = argv[: argv.index("--")] if "--" in argv else argv
    return "--json" in ours


def _tell(error: FitserveError, argv: Sequence[str], as_json: bool | None = None) -> int:
    if _wants_json(argv) if as_json is None else as_json:
        body = {"code": error.code, "message": error.message, "evidence": error.evidence, "hint": error.hint}
        print(json.dumps({"schema_version": 1, "kind": "error", "error": body}, ensure_ascii=False))  # noqa: T201
        return error.exit_code
    click.echo(click.style(tr("failure.error"), fg="red", bold=True) + error.message, err=True)
    if error.evidence:
        click.echo(f"  {tr('failure.evidence')}{error.evidence}", err=True)
    if error.hint:
        click.echo(f"  {tr('failure.next')}{error.hint}", err=True)
    return error.exit_code

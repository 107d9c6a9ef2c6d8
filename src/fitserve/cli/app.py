"""The `fitserve` command: verbs are loaded when they are used, failures are told once, here."""

from __future__ import annotations

import importlib
import io
import signal
import sys
from typing import NoReturn

import click

from fitserve.text import choose_language, tr

VERBS = {  # in the order of a first day; each module has a `command`
    "inspect": "inspect",
    "plan": "plan",
    "explain": "explain",
    "calibrate": "calibrate",
    "check": "check",
    "up": "up",
    "verify": "verify",
    "status": "status",
    "logs": "logs",
    "chat": "chat",
    "page": "page",
    "restart": "restart",
    "down": "down",
    "watch": "watch",
    "doctor": "doctor",
    "bench": "bench",
    "compare": "compare",
    "tune": "tune",
    "report": "report",
    "metrics": "metrics",
    "engine": "engine",
    "config": "config",
}


class Verbs(click.Group):
    """A group that imports a verb's module only when the verb is used; `--help` reads the one-line helps from texts."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        module = VERBS.get(cmd_name) or {"_run": "internal_run", "_page": "internal_page"}.get(cmd_name)
        if module is None:
            return None
        command: click.Command = importlib.import_module(f"fitserve.cli.{module}").command
        return speaking(command)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:  # noqa: ARG002
        with formatter.section(tr("help.commands")):
            formatter.write_dl([(verb, tr(f"help.{verb.replace('-', '_')}")) for verb in VERBS])


def language_option() -> click.Option:
    """`--lang`: on the program and on every verb, so that it can stand where a person types it."""
    return click.Option(
        ["--lang"],
        type=click.Choice(["auto", "en", "zh"]),
        expose_value=False,
        is_eager=True,
        callback=lambda _ctx, _param, value: choose_language(value) if value else None,
        help="en, zh or auto",
    )


def speaking(command: click.Command) -> click.Command:
    """The command, and those below it, with `--lang`."""
    if not any(parameter.name == "lang" for parameter in command.params):
        command.params.append(language_option())
    for below in getattr(command, "commands", {}).values():
        speaking(below)
    return command


@click.group(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="fitserve")
def app() -> None:
    """Put a quantized vision-language model on the GPUs you have, and keep it there."""


speaking(app)


def main() -> NoReturn:
    """Run the command line and exit with the code that the design's table gives."""
    from fitserve.cli.click_texts import speak_as_asked
    from fitserve.cli.failure import told

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # `timeout` and service managers: ended as by Ctrl-C
    _speak_anyway()
    speak_as_asked(sys.argv[1:])
    sys.exit(told(app))


def _speak_anyway() -> None:
    """Under a locale that is not UTF-8, a character that it lacks becomes a question mark, not a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.encoding.lower().replace("-", "") != "utf8":
            stream.reconfigure(errors="replace")

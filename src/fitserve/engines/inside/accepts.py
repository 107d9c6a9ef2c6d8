"""Run by an engine's interpreter: vLLM's own start up to the moment when its arguments are parsed, and no further.

`accepts.py ARGV…` prints one line of JSON after the mark `FITSERVE `: {"refusal": ""}, or the parser's own complaint.
"""

import argparse
import contextlib
import io
import json
import runpy
import sys

SERVER = "vllm.entrypoints.openai.api_server"


class Parsed(BaseException):
    """The arguments were taken; a BaseException, so that nobody on the way out handles it."""


def refusal(argv: list[str]) -> str:
    """What the parser says against these arguments; "" where it takes them."""
    parse = argparse.ArgumentParser.parse_args

    def parsed(self: argparse.ArgumentParser, *args: object, **named: object) -> None:
        parse(self, *args, **named)
        raise Parsed

    argparse.ArgumentParser.parse_args = parsed  # type: ignore[assignment,method-assign]  # for this process
    sys.argv = ["api_server.py", *argv]
    said = io.StringIO()
    try:
        with contextlib.redirect_stderr(said):
            runpy.run_module(SERVER, run_name="__main__")
    except Parsed:
        return ""
    except SystemExit:
        lines = [line for line in said.getvalue().splitlines() if " error: " in line]
        return lines[-1].partition(" error: ")[2] if lines else said.getvalue()[-400:]
    return ""


if __name__ == "__main__":
    try:
        answer = {"refusal": refusal(sys.argv[1:])}
    except BaseException as error:  # noqa: BLE001 - an import may fail in any way
        answer = {"problem": f"{type(error).__name__}: {error}"}
    print("\nFITSERVE " + json.dumps(answer), flush=True)  # noqa: T201 - the answer

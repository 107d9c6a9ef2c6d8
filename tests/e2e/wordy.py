"""`fitserve` whose questions are answered until somebody stops them: the demo model ends after a few words."""

from __future__ import annotations

from fitserve.chat import stream
from fitserve.cli.app import main

_body = stream.body


def endless(*args: object, **more: object) -> dict[str, object]:
    """vLLM's own word for it."""
    return _body(*args, **more) | {"ignore_eos": True}  # type: ignore[arg-type]  # passed on as it came


stream.body = endless

if __name__ == "__main__":
    main()

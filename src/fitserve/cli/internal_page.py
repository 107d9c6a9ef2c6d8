"""`fitserve _page NAME`: what the process manager starts. The port was promised to people, so no other will do."""

from __future__ import annotations

import contextlib
import os
import signal

import click

from fitserve.cli.target import find_target
from fitserve.run.engine_process import die_with_parent


@click.command(name="_page", hidden=True)
@click.argument("name")
def command(name: str) -> None:
    """Serve the chat page of a deployment on the port that its file names."""
    die_with_parent(signal.SIGKILL)  # a page that outlived its supervisor would keep the port from the next one
    from fitserve.cli.page import backend_of
    from fitserve.web.guard import Door
    from fitserve.web.owner_key import owner_key
    from fitserve.web.server import Place, serve

    target = find_target(name, "")
    door = Door(key=os.environ.get("FITSERVE_PAGE_KEY", ""), secret=owner_key())
    place = Place(port=target.page_port or 7860, exact=target.page_port is not None, door=door)
    with contextlib.suppress(KeyboardInterrupt):  # TERM is how its supervisor ends it
        serve(backend_of(target), place, lambda url, _port: click.echo(url))

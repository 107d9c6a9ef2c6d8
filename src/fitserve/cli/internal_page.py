"""`fitserve _page NAME`: what the process manager starts. The port was promised to people, so no other will do."""

from __future__ import annotations

import os

import click

from fitserve.cli.target import find_target


@click.command(name="_page", hidden=True)
@click.argument("name")
def command(name: str) -> None:
    """Serve the chat page of a deployment on the port that its file names."""
    from fitserve.web.guard import Door
    from fitserve.web.server import Place, serve

    target = find_target(name, "")
    door = Door(key=os.environ.get("FITSERVE_PAGE_KEY", ""))
    place = Place(port=target.page_port or 7860, exact=target.page_port is not None, door=door)
    serve(target.endpoint, place, target.is_demo, lambda url, _port: click.echo(url))

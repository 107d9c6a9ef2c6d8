"""`fitserve page`: the chat page in the foreground, for a deployment or any OpenAI endpoint."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING

import click

from fitserve.cli.target import Target, find_target
from fitserve.errors import SettingsError
from fitserve.text import choose_language, tr
from fitserve.web.access import is_local

if TYPE_CHECKING:
    from fitserve.web.server import Backend


@click.command(name="page")
@click.argument("name", required=False, default="", metavar="[NAME|URL]")
@click.option("--backend-url", default="", metavar="URL", help="any OpenAI endpoint, instead of a deployment")
@click.option("--model", default="", metavar="NAME", help="served model name (default: the first one served)")
@click.option("--host", default="127.0.0.1", show_default=True, help="address to bind; others need a key")
@click.option("--port", type=click.IntRange(0, 65535), default=7860, show_default=True, help="or the next free one")
@click.option("--allow-host", "names", multiple=True, metavar="NAME", help="a host name this page is opened by")
@click.option("--lang", type=click.Choice(["auto", "en", "zh"]), default="auto", help="auto: as the browser wants it")
@click.option("--insecure", is_flag=True, help="bind to other addresses without a key")
@click.option("--owner-key", "show_key", is_flag=True, help="print the key of the owner's tab, and end")
def command(
    name: str,
    backend_url: str,
    model: str,
    host: str,
    port: int,
    names: tuple[str, ...],
    lang: str,
    insecure: bool,
    show_key: bool,
) -> None:
    """Serve the chat page until Ctrl-C. A key for it is read from FITSERVE_PAGE_KEY."""
    from fitserve.web.guard import Door
    from fitserve.web.owner_key import owner_key
    from fitserve.web.server import Place, serve

    if show_key:
        click.echo(owner_key())
        return
    if lang != "auto":
        choose_language(lang)
    key = os.environ.get("FITSERVE_PAGE_KEY", "")
    local = is_local(host)
    if not local and not key and not insecure:
        raise SettingsError(tr("web.public", host=host), code="public_bind", hint=tr("web.public_next", host=host))
    target = find_target(name, backend_url, model)
    hosts = {"localhost", host, *names} | (set() if local else {socket.gethostname(), socket.getfqdn()})
    door = Door(frozenset(known.lower() for known in hosts), key, secret=owner_key())
    place = Place(host, port, language="" if lang == "auto" else lang, door=door)
    serve(backend_of(target), place, lambda url, bound_port: _say(url, bound_port, port))


def backend_of(target: Target) -> Backend:
    """What the page is to know of who answers; of a bare address nothing is known before it does."""
    from fitserve.chat.room import Room
    from fitserve.web.server import Backend

    return Backend(target.endpoint, target.name if target.room else "", target.is_demo, target.room or Room())


def _say(url: str, port: int, wanted: int) -> None:
    if wanted and port != wanted:
        click.echo(tr("web.port_moved", port=wanted, url=url), err=True)
    click.echo(tr("web.ready", url=url))
    click.echo(tr("web.ready_hint"), err=True)

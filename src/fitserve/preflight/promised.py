"""The checksums that a hub gave for files that are on this disk.

huggingface-hub and fitserve name a blob of the hub's cache by its checksum; a download into a folder keeps the sums
beside the files. For other copies the hub is asked, where the model's name on it is known.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from pathlib import Path

from fitserve.facts.hub_ref import Hub, HubRef
from fitserve.facts.hub_site import HubFile, list_files, open_web
from fitserve.fetch.files import needed_files

_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class Promised:
    """Files with sums, and where those are from: `cache`, `download` or the hub's host. Empty: nobody gave any."""

    files: tuple[HubFile, ...]
    source: str = ""


def promised(folder: Path, ref: HubRef | None, *, offline: bool) -> Promised:
    """The sums of the files of a folder. Raises FitserveError where the hub was asked and did not answer."""
    names = sorted(path.name for path in folder.iterdir() if path.is_file())
    for source, digest_of in (("cache", _blob_name), ("download", _metadata)):
        found = [(name, digest_of(folder / name)) for name in names]
        if any(digest for _, digest in found):
            return Promised(tuple(_file(folder, name, digest) for name, digest in found if digest), source)
    if ref is None or offline:
        return Promised(())
    return _asked(folder, ref)


def _file(folder: Path, name: str, digest: str) -> HubFile:
    return HubFile(name, (folder / name).stat().st_size, digest)


def _blob_name(path: Path) -> str:
    """`snapshots/COMMIT/NAME` is a link to `blobs/DIGEST`."""
    target = path.resolve()
    return target.name if target.parent.name == "blobs" and _DIGEST.fullmatch(target.name) else ""


def _metadata(path: Path) -> str:
    """`.cache/huggingface/download/NAME.metadata`: commit, etag, time, a line each."""
    try:
        lines = (path.parent / ".cache/huggingface/download" / f"{path.name}.metadata").read_text().splitlines()
    except (OSError, UnicodeDecodeError):
        return ""
    digest = lines[1].strip() if len(lines) > 1 else ""
    return digest if _DIGEST.fullmatch(digest) else ""


def _asked(folder: Path, ref: HubRef) -> Promised:
    """What the hub says of the files that a served model needs, those that are not here among them."""
    if ref.hub is Hub.HUGGING_FACE and _COMMIT.fullmatch(folder.name):
        ref = replace(ref, revision=folder.name)
    web = open_web(ref.hub)
    try:
        listed = {file.path: file for file in list_files(web, ref)}
        return Promised(needed_files(web, ref, listed), web.host)
    finally:
        web.close()

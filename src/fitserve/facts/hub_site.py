"""The two hubs' own ways: where a model's file list and files are, and whose token is used."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from urllib.parse import quote

from fitserve.errors import NotFound, OperationFailed
from fitserve.facts.config import parse_json
from fitserve.facts.hub_cache import hugging_face_home
from fitserve.facts.hub_http import HubWeb
from fitserve.facts.hub_ref import Hub, HubRef, is_on
from fitserve.text import tr

_LIST_LIMIT_BYTES = 16 * 1024**2
_COMMIT = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True)
class HubFile:
    """A file of a repository. `digest` changes with its content; "" where the hub does not say."""

    path: str
    size_bytes: int
    digest: str


def open_web(hub: Hub) -> HubWeb:
    """A conversation with the hub that the environment names, with its token."""
    if hub is Hub.MODELSCOPE:
        domain = os.environ.get("MODELSCOPE_DOMAIN") or "www.modelscope.cn"
        base = os.environ.get("MODELSCOPE_ENDPOINT") or f"https://{domain}"
        return HubWeb(base, os.environ.get("MODELSCOPE_API_TOKEN", ""))
    return HubWeb(os.environ.get("HF_ENDPOINT") or "https://huggingface.co", _hugging_face_token())


def list_files(web: HubWeb, ref: HubRef) -> tuple[HubFile, ...]:
    """The files at the top of the repository, with sizes."""
    if ref.hub is Hub.MODELSCOPE:
        path = f"/api/v1/models/{ref.id}/repo/files?Revision={quote(ref.branch, safe='')}&Recursive=False"
        data = parse_json(_answer(web, path), path).get("Data")
        entries = data.get("Files") if isinstance(data, dict) else None
    else:
        path = f"/api/models/{ref.id}/tree/{quote(ref.branch, safe='')}?recursive=false"
        entries = parse_json(b'{"files":' + _answer(web, path) + b"}", path).get("files")
    if not isinstance(entries, list):
        raise OperationFailed(tr("hub.strange", path=path), code="hub_failed")
    return tuple(file for file in map(_file, entries) if file is not None)


def commit_of(web: HubWeb, ref: HubRef) -> str:
    """The commit that a Hugging Face branch stands at; "" where the hub or its mirror does not say."""
    path = f"/api/models/{ref.id}/revision/{quote(ref.branch, safe='')}"
    try:
        commit = parse_json(_answer(web, path), path).get("sha")
    except NotFound:  # of a mirror; a model that is not there is told by the list of its files
        return ""
    return commit if isinstance(commit, str) and _COMMIT.fullmatch(commit) else ""


def file_path(ref: HubRef, name: str) -> str:
    """The path under the hub's address from which a file's bytes come."""
    if ref.hub is Hub.MODELSCOPE:
        return f"/api/v1/models/{ref.id}/repo?Revision={quote(ref.branch, safe='')}&FilePath={quote(name, safe='')}"
    return f"/{ref.id}/resolve/{quote(ref.branch, safe='')}/{quote(name)}"


def _answer(web: HubWeb, path: str) -> bytes:
    content = web.get(path, limit=_LIST_LIMIT_BYTES)
    if content.lstrip()[:1] == b"<":
        raise OperationFailed(tr("hub.html", host=web.host), code="hub_html", evidence=path)
    return content


def _file(entry: object) -> HubFile | None:
    if not isinstance(entry, dict):
        return None
    path = entry.get("path") or entry.get("Path")
    size = entry.get("size", entry.get("Size"))
    lfs = entry.get("lfs")
    digest = (lfs.get("oid") if isinstance(lfs, dict) else None) or entry.get("oid") or entry.get("Sha256")
    kind = entry.get("type") or entry.get("Type")
    if kind not in ("file", "blob") or not isinstance(path, str) or "/" in path or type(size) is not int or size < 0:
        return None
    return HubFile(path, size, digest if isinstance(digest, str) else "")


def _hugging_face_token() -> str:
    for variable in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"):
        if os.environ.get(variable):
            return os.environ[variable].strip()
    if is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN"):
        return ""
    path = os.environ.get("HF_TOKEN_PATH") or str(hugging_face_home() / "token")
    try:
        with open(path, encoding="ascii") as file:  # noqa: PTH123 - the path may be "", which Path turns into "."
            return file.read(4096).strip()
    except (OSError, UnicodeDecodeError):
        return ""

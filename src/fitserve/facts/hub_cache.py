"""Models that huggingface-hub or modelscope have already downloaded to this machine."""

from __future__ import annotations

import os
from pathlib import Path

from fitserve.facts.folder import named_shards
from fitserve.facts.hub_ref import Hub, HubRef


def find_snapshot(ref: HubRef) -> Path | None:
    """The folder of a complete local copy: it has a config and every shard that its index names. Asks no network."""
    candidates = _hugging_face(ref) if ref.hub is Hub.HUGGING_FACE else _modelscope(ref)
    return next((folder for folder in candidates if _is_complete(folder)), None)


def hugging_face_home() -> Path:
    """HF_HOME, or its default."""
    default = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "huggingface"
    return Path(os.environ.get("HF_HOME") or default).expanduser()


def hugging_face_cache() -> Path:
    """The folder in which huggingface-hub keeps what it downloads."""
    root = os.environ.get("HF_HUB_CACHE") or os.environ.get("HUGGINGFACE_HUB_CACHE") or hugging_face_home() / "hub"
    return Path(root).expanduser()


def modelscope_cache() -> Path:
    """The folder in which modelscope keeps what it downloads."""
    return Path(os.environ.get("MODELSCOPE_CACHE") or Path.home() / ".cache" / "modelscope").expanduser()


def _hugging_face(ref: HubRef) -> list[Path]:
    repository = hugging_face_cache() / f"models--{ref.id.replace('/', '--')}"
    try:
        commit = (repository / "refs" / ref.branch).read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        commit = ref.revision
    return [repository / "snapshots" / commit] if commit and ".." not in commit else []


def _modelscope(ref: HubRef) -> list[Path]:
    """The layouts of several modelscope releases; dots of a name are written as three underscores."""
    root = modelscope_cache()
    owner, _, name = ref.id.partition("/")
    safe = name.replace(".", "___")
    bases = (root / "models", root / "hub" / "models", root / "hub", root)
    folders = [base / owner / spelling for base in bases for spelling in (safe, name)]
    return [*folders, root / "models" / f"{owner}--{name}" / "snapshots" / ref.branch]


def _is_complete(folder: Path) -> bool:
    if not (folder / "config.json").is_file():
        return False
    shards = named_shards(folder)
    return bool(shards) and all((folder / shard).is_file() for shard in shards)

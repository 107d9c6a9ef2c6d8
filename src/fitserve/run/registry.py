"""The deployments that exist: their frozen files, by name."""

from __future__ import annotations

import contextlib
import json
import re
import shutil
from dataclasses import asdict
from pathlib import Path

from fitserve.paths import state_dir
from fitserve.run.deployment import Deployment, Policy, deployment_dir
from fitserve.run.files import write_whole

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,39}")
PAGE_PREFIX = "page-"  # supervisor's name for a deployment's page


def is_name(text: str) -> bool:
    """Whether this can be a deployment's name: lower case, at most 40 characters, no `page-` in front."""
    return bool(_NAME.fullmatch(text)) and not text.startswith(PAGE_PREFIX)


def name_for(text: str) -> str:
    """A name made from a folder's or a model's: `Qwen3.5-35B-A3B` gives `qwen3.5-35b-a3b`."""
    slug = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("-._")[:40].rstrip("-._")
    return slug.removeprefix(PAGE_PREFIX) or "model"


def names() -> list[str]:
    """Every deployment that has a file, sorted."""
    return sorted(path.parent.name for path in (state_dir() / "deployments").glob("*/deployment.json"))


def broken() -> dict[str, str]:
    """Deployments whose file can't be read, with the reason."""
    found = {}
    for name in names():
        try:
            load(name)
        except (OSError, ValueError) as error:
            found[name] = str(error)
    return found


def save(deployment: Deployment) -> None:
    """Freeze it. Raises OSError."""
    write_whole(_file(deployment.name), json.dumps(asdict(deployment), ensure_ascii=False, indent=1).encode())


def load(name: str) -> Deployment | None:
    """The frozen deployment; None where there is none. Raises ValueError for a file that is broken."""
    if not is_name(name):
        return None
    try:
        content = _file(name).read_bytes()
    except FileNotFoundError:
        return None
    try:
        table = json.loads(content)
        known = {key: value for key, value in table.items() if key in Deployment.__dataclass_fields__}
        known["argv"] = tuple(known["argv"])
        known["policy"] = Policy(**known.get("policy", {}))
        return Deployment(**known)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"{_file(name)}: {error}") from error


def forget(name: str) -> None:
    """Remove a deployment that never answered, with all that it wrote."""
    with contextlib.suppress(OSError):
        shutil.rmtree(deployment_dir(name))


def _file(name: str) -> Path:
    return deployment_dir(name) / "deployment.json"

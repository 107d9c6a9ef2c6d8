"""Where downloads lie: the hubs' own caches, so that huggingface-hub, modelscope and vLLM find them as their own."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
from pathlib import Path
from typing import Protocol

from fitserve.facts.hub_cache import hugging_face_cache, modelscope_cache
from fitserve.facts.hub_ref import Hub, HubRef
from fitserve.facts.hub_site import HubFile
from fitserve.fetch.digest import is_file

PART = ".fitserve.incomplete"  # our own ending: huggingface-hub's parts may have holes, ours never
_DIGEST = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


class Place(Protocol):
    """A model's home in a cache. A file stands under its name only once it is whole."""

    root: Path

    def has(self, file: HubFile) -> bool: ...
    def part(self, file: HubFile) -> Path: ...
    def lock(self, file: HubFile) -> Path: ...
    def at_hand(self, file: HubFile) -> bool: ...
    def keep(self, file: HubFile) -> None: ...
    def finish(self) -> Path: ...


def place_for(ref: HubRef, commit: str) -> Place:
    """The place of a model; `commit` is what its branch stands at (Hugging Face)."""
    return HuggingFacePlace(ref, commit) if ref.hub is Hub.HUGGING_FACE else ModelScopePlace(ref)


class HuggingFacePlace:
    """`blobs/DIGEST`, linked from `snapshots/COMMIT/NAME`; `refs/BRANCH` holds the commit."""

    def __init__(self, ref: HubRef, commit: str) -> None:
        self.cache = hugging_face_cache()
        self.root = self.cache / f"models--{ref.id.replace('/', '--')}"
        self.snapshot = self.root / "snapshots" / commit
        self.ref, self.commit = ref, commit

    def has(self, file: HubFile) -> bool:
        return is_file(self.snapshot / file.path, file)

    def part(self, file: HubFile) -> Path:
        return self.root / "blobs" / f"{_blob(file)}{PART}"

    def lock(self, file: HubFile) -> Path:
        """The very lock that huggingface-hub takes for this file."""
        return self.cache / ".locks" / self.root.name / f"{_blob(file)}.lock"

    def keep(self, file: HubFile) -> None:
        """Name the finished part, or the blob that another branch has left, in the snapshot."""
        blob, link = self.root / "blobs" / _blob(file), self.snapshot / file.path
        if self.part(file).exists():
            self.part(file).replace(blob)
        link.parent.mkdir(parents=True, exist_ok=True)
        fresh = link.with_name(f"{link.name}.{os.getpid()}{PART}")
        fresh.unlink(missing_ok=True)
        try:
            fresh.symlink_to(Path("../../blobs") / blob.name)
        except OSError:  # a file system without links: huggingface-hub moves the file then, too
            blob.replace(link)
            return
        fresh.replace(link)

    def at_hand(self, file: HubFile) -> bool:
        """Whether the blob is here already, from another commit."""
        return is_file(self.root / "blobs" / _blob(file), file)

    def finish(self) -> Path:
        """Let the branch point here: only now is it found by its name."""
        if self.ref.branch != self.commit:
            path = self.root / "refs" / self.ref.branch
            path.parent.mkdir(parents=True, exist_ok=True)
            fresh = path.with_name(f"{path.name}.{os.getpid()}{PART}")
            fresh.write_text(self.commit, encoding="ascii")
            fresh.replace(path)
        return self.snapshot


class ModelScopePlace:
    """`models/OWNER--NAME/snapshots/REVISION/NAME`, or the folder of a release before 1.38 where one is in use."""

    def __init__(self, ref: HubRef) -> None:
        self.cache = modelscope_cache()
        self.root = self._folder(ref)
        self._id = ref.id

    def _folder(self, ref: HubRef) -> Path:
        owner, _, name = ref.id.partition("/")
        before = [self.cache / base / owner / name.replace(".", "___") for base in ("models", "hub/models")]
        used = next((folder for folder in before if not ref.revision and _in_use(folder)), None)
        return used or self.cache / "models" / f"{owner}--{name}" / "snapshots" / ref.branch

    def has(self, file: HubFile) -> bool:
        return is_file(self.root / file.path, file)

    def part(self, file: HubFile) -> Path:
        return self.root / f"{file.path}{PART}"

    def lock(self, file: HubFile) -> Path:
        """The very lock that modelscope takes for this file."""
        key = "\0".join(("modelscope-hub-download-lock-v2", "file", "model", self._id, file.path))
        return self.cache / ".lock" / f"file_{hashlib.sha256(key.encode()).hexdigest()}.lock"

    def at_hand(self, file: HubFile) -> bool:  # noqa: ARG002 - nothing is shared between revisions here
        return False

    def keep(self, file: HubFile) -> None:
        """Give the finished part its name."""
        self.part(file).replace(self.root / file.path)

    def finish(self) -> Path:
        return self.root


def _blob(file: HubFile) -> str:
    """huggingface-hub names a blob by its ETag, which is this digest. What is no digest never becomes a path."""
    digest = file.digest.removeprefix("sha256:").lower()
    return digest if _DIGEST.fullmatch(digest) else hashlib.sha256(f"{file}".encode()).hexdigest()


def _in_use(folder: Path) -> bool:
    with contextlib.suppress(OSError):
        return any(folder.iterdir())
    return False

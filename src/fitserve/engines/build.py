"""One environment in the making: a hidden sibling of its place, gone again unless it was finished."""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import sysconfig
import venv
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import fitserve
from fitserve.constants import CUDA_TORCH_DISK_BYTES
from fitserve.engines.base import Recipe
from fitserve.engines.manifest import Manifest, python_of, write_manifest
from fitserve.engines.packages import Installs, packages_in
from fitserve.engines.progress import Progress
from fitserve.engines.room import check_disk
from fitserve.engines.torch_source import CUDA_SIZE, install_torch
from fitserve.engines.workshop import Workshop
from fitserve.paths import state_dir
from fitserve.text import tr
from fitserve.units import format_bytes

SHIM = Path(__file__).parent / "inside" / "fitserve_torchvision.py"
SCRATCH = "scratch"
HALF, OLD = "half", "old"  # .NAME.half-1234, .NAME.old-1234


@dataclass
class Draft:
    """An environment that is not yet in its place."""

    recipe: Recipe
    folder: Path
    place: Path
    log: Path
    torch_source: str = ""

    def finish(self, lock_digest: str) -> int:
        """Make it fit for its place, write the manifest last, and return its size in bytes."""
        relocate(self.folder, self.place)
        size = size_of(self.folder)
        version = ".".join(map(str, sys.version_info[:3]))
        write_manifest(
            self.folder,
            Manifest(
                self.recipe.engine, self.recipe.version, self.recipe.device, self.torch_source, lock_digest, version,
                fitserve.__version__, size,
            ),
        )  # fmt: skip
        return size


@contextmanager
def build(recipe: Recipe, shop: Workshop, ask: Callable[[str], bool], progress: Progress) -> Iterator[Draft]:
    """Make the environment and give it out for judgement; on any failure, an interrupt too, it is removed."""
    half = shop.folder / f".{recipe.folder}.{HALF}-{os.getpid()}"
    draft = Draft(recipe, half, shop.folder / recipe.folder, state_dir() / f"engine-install-{recipe.folder}.log")
    draft.log.write_text("", encoding="utf-8")
    try:
        progress.begin(tr("engines.stage_venv", version=".".join(map(str, sys.version_info[:3]))))
        runner = shop.ground.pip_runner()
        venv.EnvBuilder(symlinks=True, with_pip=runner is None).create(half)
        progress.end()
        pip = shop.pip(python_of(half), runner, draft.log, half / SCRATCH)
        draft.torch_source = fill(recipe, pip, partial(_last_resort, shop, ask), progress)
        shutil.rmtree(half / SCRATCH, ignore_errors=True)
        if recipe.device == "cpu":
            add_shim(half)
        yield draft
    finally:
        shutil.rmtree(half, ignore_errors=True)


def _last_resort(shop: Workshop, ask: Callable[[str], bool]) -> bool:
    """Whether torch's CUDA build may be fetched. Raises OperationFailed where the disk has no room for it."""
    check_disk(CUDA_TORCH_DISK_BYTES, shop.folder, shop.ground)
    return ask(tr("engines.cuda_torch_ask", size=CUDA_SIZE))


def fill(recipe: Recipe, pip: Installs, consent: Callable[[], bool], progress: Progress) -> str:
    """Bring the packages in: torch first, for its source has to be found, then the engine and all that it needs.

    Returns where torch came from, '' where the engine's own requirement brings it.
    """
    source = ""
    if recipe.torch and recipe.torch_lock and recipe.cuda_torch_lock:
        progress.begin(tr("engines.stage_torch", version=recipe.torch))
        source = install_torch(pip, recipe.torch_lock, recipe.cuda_torch_lock, consent, progress, recipe.index)
        progress.end()
    size = format_bytes(recipe.download_bytes) if recipe.download_bytes else tr("engines.size_unknown")
    progress.begin(tr("engines.stage_packages", package=recipe.package, count=requirements(recipe), size=size))
    if recipe.lock is None:
        pip.install(recipe.package, detail=progress.detail)
    else:
        hashed = ("--no-deps", "--only-binary=:all:", "--require-hashes")
        pip.install(*hashed, "-r", str(recipe.lock), detail=progress.detail)
    progress.end()
    return source


def add_shim(environment: Path) -> None:
    """Put the torchvision helper where the environment's Python finds it at its start."""
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))
    shutil.copyfile(SHIM, packages / SHIM.name)
    (packages / f"{SHIM.stem}.pth").write_text(f"import {SHIM.stem}\n", encoding="utf-8")


def relocate(environment: Path, place: Path) -> None:
    """Console scripts name their interpreter by path: make it the path that it will have."""
    old, new = f"{environment}/bin/python".encode(), f"{place}/bin/python".encode()
    for script in (environment / "bin").iterdir():
        if script.is_symlink() or not script.is_file():
            continue
        content = script.read_bytes()
        if content.startswith(b"#!") and old in content.partition(b"\n")[0]:
            head, line, rest = content.partition(b"\n")
            script.write_bytes(head.replace(old, new) + line + rest)


def swap(half: Path, place: Path) -> None:
    """Put the finished environment in its place. What was there is moved aside first, and removed after."""
    old = place.with_name(f".{place.name}.{OLD}-{os.getpid()}")
    if place.exists():
        place.rename(old)
    half.rename(place)
    shutil.rmtree(old, ignore_errors=True)


def sweep(folder: Path, recipe: Recipe) -> None:
    """Remove what interrupted installs of this recipe left. Only called with its lock held."""
    for kind in (HALF, OLD):
        for path in folder.glob(f".{recipe.folder}.{kind}-*"):
            shutil.rmtree(path, ignore_errors=True)


def digest_of(recipe: Recipe) -> str:
    """What an environment is built from: the locks and the helper that is copied into it."""
    parts = [path.read_bytes() for path in (recipe.lock, recipe.torch_lock, SHIM) if path]
    return hashlib.sha256(b"\0".join([recipe.package.encode(), *parts])).hexdigest()


def requirements(recipe: Recipe) -> int | str:
    """How many packages the lock names; `?` without a lock."""
    return packages_in(recipe.lock) if recipe.lock else "?"


def size_of(folder: Path) -> int:
    """Bytes on disk of everything below a folder."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            total += os.lstat(f"{parent}/{name}").st_blocks * 512
    return total

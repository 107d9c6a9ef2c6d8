"""Copied into an engine's environment: lets a torchvision built for CUDA be imported beside a CPU torch.

PyPI's torchvision can't load its compiled operators there, and stops at «operator torchvision::nms does not exist».
Vision-language processors use its Python transforms only. So when, and only when, that import fails, the two operator
schemas are declared (without kernels: calling them still fails) and the import is tried again.
Costs one class in front of the import path; nothing else is imported until somebody imports torchvision.
"""

from __future__ import annotations

import sys

TYPE_CHECKING = False  # typing itself is not imported: every start of this environment's Python would pay for it
if TYPE_CHECKING:
    from collections.abc import Sequence
    from importlib.abc import Loader as RealLoader
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

SCHEMAS = (
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
)


class Loader:
    """The real loader, with a second try."""

    def __init__(self, real: RealLoader) -> None:
        self.real = real

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the real loader has
        return getattr(self.real, name)

    def exec_module(self, module: ModuleType) -> None:
        try:
            self.real.exec_module(module)
        except RuntimeError as error:
            if "operator torchvision::nms does not exist" not in str(error):
                raise
            import importlib

            for name in [name for name in sys.modules if name.startswith("torchvision.")]:
                del sys.modules[name]
            library = importlib.import_module("torch.library").Library("torchvision", "DEF")
            for schema in SCHEMAS:
                library.define(schema)
            module.__dict__["fitserve_schemas"] = library  # kept alive: the schemas go with it
            self.real.exec_module(module)


class Finder:
    """Finds torchvision as everybody else would, and wraps its loader."""

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name != "torchvision":
            return None
        for finder in sys.meta_path:
            spec = None if finder is self else finder.find_spec(name, path, target)
            if spec is not None and spec.loader is not None:
                spec.loader = Loader(spec.loader)  # type: ignore[assignment]  # duck-typed: the abc costs an import
                return spec
        return None


sys.meta_path.insert(0, Finder())

"""Which cards there are: asked of the driver, or explained why nobody can say."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from fitserve.facts.gpu import Gpu, GpusUnknown
from fitserve.facts.nvml import Nvml, read_cards, visible_devices
from fitserve.text import tr

_NVIDIA_VENDOR = "0x10de"
_DISPLAY_CLASS = "0x03"  # PCI class of display and 3D controllers


def read_gpus(root: Path = Path("/"), nvml: Nvml | None = None) -> tuple[Gpu, ...] | GpusUnknown:
    """The cards that CUDA would see here.

    Empty where there is no NVIDIA card. GpusUnknown where there may be one and the driver does not answer, or where
    the cards are of a make that can't be read yet.
    """
    if nvml is None:
        import pynvml

        nvml = cast(Nvml, pynvml)
    cards = read_cards(nvml, visible_devices())
    if not isinstance(cards, GpusUnknown):
        return cards
    if _has_nvidia_card(root):
        return cards
    if (root / "dev/kfd").exists():
        return GpusUnknown(tr("gpus.amd"), "/dev/kfd")
    return ()


def _has_nvidia_card(root: Path) -> bool:
    for vendor in (root / "sys/bus/pci/devices").glob("*/vendor"):
        if _line(vendor) == _NVIDIA_VENDOR and _line(vendor.with_name("class")).startswith(_DISPLAY_CLASS):
            return True
    return (root / "dev/nvidiactl").exists() or (root / "dev/dxg").exists()


def _line(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace").strip()
    except OSError:
        return ""

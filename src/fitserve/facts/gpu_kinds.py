"""GPU kinds by name: what the driver really gives a program, bandwidth, capability, and how cards reach each other.

`visible` is what CUDA reports as the total (vLLM's "Free memory on device (x/y GiB)", torch's "total capacity of"),
the number on the box less the driver's own reserve. It moves by a few hundredths between driver releases. Where it
was read in public logs of the card, `seen` is true; elsewhere it is inferred from cards of the same make. Bandwidths
and capabilities are the maker's.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum

from fitserve.units import GIB


class Peer(StrEnum):
    """How two cards of this kind reach each other's memory."""

    NONE = "none"  # only through the host (GeForce since the 40 series)
    BRIDGE = "bridge"  # NVLink where a bridge joins a pair; else through the host
    PCIE = "pcie"
    NVLINK = "nvlink"


@dataclass(frozen=True)
class GpuKind:
    """One kind of card."""

    name: str
    box_gib: int
    visible_bytes: int
    seen: bool
    bandwidth_bytes_s: int
    capability: tuple[int, int]
    peer: Peer


_N, _B, _P, _L = Peer.NONE, Peer.BRIDGE, Peer.PCIE, Peer.NVLINK
_Row = tuple[str, int, float, bool, int, tuple[int, int], Peer]
_ROWS: tuple[_Row, ...] = (  # name, GB on the box, visible GiB, seen, GB/s, capability, peers
    ("RTX 2080 Ti", 11, 10.57, True, 616, (7, 5), _B),
    ("RTX 2080 Ti 22GB", 22, 21.48, False, 616, (7, 5), _B),  # refitted, like the others with twice their memory
    ("TITAN RTX", 24, 23.46, False, 672, (7, 5), _B),
    ("RTX 3060", 12, 11.63, False, 360, (8, 6), _N),
    ("RTX 3060 Ti", 8, 7.66, False, 448, (8, 6), _N),
    ("RTX 3070", 8, 7.66, False, 448, (8, 6), _N),
    ("RTX 3070 Ti", 8, 7.66, False, 608, (8, 6), _N),
    ("RTX 3080", 10, 9.64, False, 760, (8, 6), _N),
    ("RTX 3080 12GB", 12, 11.63, False, 912, (8, 6), _N),
    ("RTX 3080 20GB", 20, 19.6, False, 760, (8, 6), _N),
    ("RTX 3080 Ti", 12, 11.63, False, 912, (8, 6), _N),
    ("RTX 3090", 24, 25295323136 / GIB, True, 936, (8, 6), _B),
    ("RTX 3090 Ti", 24, 23.57, True, 1008, (8, 6), _B),
    ("RTX 4060", 8, 7.63, False, 272, (8, 9), _N),
    ("RTX 4060 Ti 16GB", 16, 15.57, True, 288, (8, 9), _N),
    ("RTX 4060 Ti 8GB", 8, 7.63, False, 288, (8, 9), _N),
    ("RTX 4070", 12, 11.6, False, 504, (8, 9), _N),
    ("RTX 4070 SUPER", 12, 11.6, False, 504, (8, 9), _N),
    ("RTX 4070 Ti", 12, 11.6, False, 504, (8, 9), _N),
    ("RTX 4070 Ti SUPER", 16, 15.57, False, 672, (8, 9), _N),
    ("RTX 4080", 16, 15.57, False, 717, (8, 9), _N),
    ("RTX 4080 SUPER", 16, 15.57, False, 736, (8, 9), _N),
    ("RTX 4090", 24, 23.52, True, 1008, (8, 9), _N),
    ("RTX 4090 48GB", 48, 47.37, False, 1008, (8, 9), _N),
    ("RTX 4090D", 24, 23.52, False, 1008, (8, 9), _N),
    ("RTX 5060", 8, 7.53, False, 448, (12, 0), _N),
    ("RTX 5060 Ti 16GB", 16, 15.45, True, 448, (12, 0), _N),
    ("RTX 5060 Ti 8GB", 8, 7.53, False, 448, (12, 0), _N),
    ("RTX 5070", 12, 11.5, False, 672, (12, 0), _N),
    ("RTX 5070 Ti", 16, 15.47, False, 896, (12, 0), _N),
    ("RTX 5080", 16, 15.48, True, 960, (12, 0), _N),
    ("RTX 5090", 32, 31.36, True, 1792, (12, 0), _N),
    ("RTX A2000 12GB", 12, 11.53, True, 288, (8, 6), _P),
    ("RTX A4000", 16, 15.61, True, 448, (8, 6), _P),
    ("RTX A4500", 20, 19.6, False, 640, (8, 6), _B),
    ("RTX A5000", 24, 23.57, False, 768, (8, 6), _B),
    ("RTX A6000", 48, 47.4, False, 768, (8, 6), _B),
    ("RTX 4000 Ada", 20, 19.6, False, 360, (8, 9), _P),
    ("RTX 4500 Ada", 24, 23.5, False, 432, (8, 9), _P),
    ("RTX 5000 Ada", 32, 31.5, False, 576, (8, 9), _P),
    ("RTX 5880 Ada", 48, 47.4, False, 960, (8, 9), _P),
    ("RTX 6000 Ada", 48, 47.4, False, 960, (8, 9), _P),
    ("RTX PRO 4000", 24, 23.4, False, 672, (12, 0), _P),
    ("RTX PRO 4500", 32, 31.38, True, 896, (12, 0), _P),
    ("RTX PRO 5000", 48, 47.3, False, 1344, (12, 0), _P),
    ("RTX PRO 6000", 96, 94.97, True, 1792, (12, 0), _P),
    ("T4", 16, 14.58, True, 320, (7, 5), _P),
    ("V100 16GB", 16, 15.77, False, 900, (7, 0), _L),
    ("V100 32GB", 32, 31.74, False, 900, (7, 0), _L),
    ("A10", 24, 22.0, False, 600, (8, 6), _P),
    ("A10G", 24, 21.99, True, 600, (8, 6), _P),
    ("A30", 24, 23.5, False, 933, (8, 0), _B),
    ("A40", 48, 44.4, False, 696, (8, 6), _B),
    ("A100 40GB", 40, 39.4, False, 1555, (8, 0), _L),
    ("A100 80GB", 80, 79.15, True, 2039, (8, 0), _L),
    ("A800 80GB", 80, 79.15, False, 2039, (8, 0), _L),
    ("L4", 24, 22.03, False, 300, (8, 9), _P),
    ("L20", 48, 44.4, False, 864, (8, 9), _P),
    ("L40", 48, 44.4, False, 864, (8, 9), _P),
    ("L40S", 48, 44.4, True, 864, (8, 9), _P),
    ("H20", 96, 95.0, False, 4000, (9, 0), _L),
    ("H100", 80, 79.11, False, 3350, (9, 0), _L),
    ("H100 PCIe", 80, 79.11, False, 2039, (9, 0), _B),
    ("H100 NVL", 94, 93.1, False, 3938, (9, 0), _B),
    ("H800", 80, 79.11, False, 3350, (9, 0), _L),
    ("H200", 141, 139.8, False, 4800, (9, 0), _L),
    ("B200", 180, 178.3, False, 8000, (10, 0), _L),
    ("B300", 288, 268.0, False, 8000, (10, 3), _L),
    ("GB10", 128, 119.6, False, 273, (12, 1), _N),
)
KINDS = tuple(
    GpuKind(name, box, int(visible * GIB), seen, gbs * 10**9, capability, peer)
    for name, box, visible, seen, gbs, capability, peer in _ROWS
)
_FILLER = {"nvidia", "geforce", "tesla", "quadro", "generation", "workstation", "server", "edition", "blackwell", "gpu"}
_VARIANT = re.compile(r"sxm\d*|hbm\w*|pcie|nvl|\d+gb")


def find_kind(name: str, total_bytes: int | None = None) -> GpuKind | None:
    """The kind for a driver's name ("NVIDIA GeForce RTX 3090") or a person's ("3090", "a100-80gb").

    Where kinds share a name, `total_bytes` chooses: an A100 with 79 GiB is the 80 GB one. None where nothing matches,
    and where a name without its size could be several cards.
    """
    base, variants = _split(name)
    fitting = [kind for kind in KINDS if total_bytes is None or _near(kind, total_bytes)]
    joined = base + "".join(variants)
    exact = [kind for kind in fitting if joined in _spellings(kind)]
    same = exact or [kind for kind in fitting if _split(kind.name)[0] in (base, f"rtx{base}")]
    best = [kind for kind in same if set(_split(kind.name)[1]) & set(variants)] or same
    plain = [kind for kind in best if not _split(kind.name)[1]] or best
    return plain[0] if len(plain) == 1 else None


def near_names(name: str) -> list[str]:
    """Names like a mistyped one, for "did you mean"."""
    import difflib

    base = _split(name)[0]
    same = [kind.name for kind in KINDS if base and _split(kind.name)[0] in (base, f"rtx{base}")]
    by_key = {spelling: kind.name for kind in KINDS for spelling in _spellings(kind)}
    close = [by_key[key] for key in difflib.get_close_matches(base, by_key, n=6, cutoff=0.6)]
    return list(dict.fromkeys(same or close))[:3]


def _spellings(kind: GpuKind) -> tuple[str, str]:
    base, variants = _split(kind.name)
    joined = base + "".join(variants)
    return joined, joined.removeprefix("rtx")


def _split(name: str) -> tuple[str, tuple[str, ...]]:
    """The name without the maker's words, joined; and the words that tell its variants apart (80gb, pcie)."""
    words = [word for word in re.findall(r"[a-z0-9]+", name.lower()) if word not in _FILLER]
    variants = tuple(word for word in words if _VARIANT.fullmatch(word))
    return "".join(word for word in words if word not in variants), variants


def _near(kind: GpuKind, total_bytes: int) -> bool:
    return abs(kind.visible_bytes - total_bytes) < kind.visible_bytes * 0.12

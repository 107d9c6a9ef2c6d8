"""HEIC in a process of its own: its decoder crashes on damaged bytes (seen by fuzzing), and must not take a page along.

As a program, `python -m fitserve.chat.heif MAX_PIXELS` reads a file from stdin and writes its first picture's pixels to
stdout, or nothing where they are too many, and its size and mode as JSON to stderr.
"""

from __future__ import annotations

import io
import json
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fitserve.units import GIB

if TYPE_CHECKING:
    from PIL.Image import Image

_BRANDS = (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1")
_TIME_LIMIT_S = 60
_MEMORY_LIMIT = 3 * GIB  # of addresses; 64 million pixels take 0.6


@dataclass(frozen=True)
class Found:
    """A HEIC file: its upright size, whether it holds several pictures, the first of them (None: too large)."""

    size: tuple[int, int]
    several: bool
    image: Image | None


def is_heif(data: bytes) -> bool:
    """By its first bytes. AVIF looks much the same, but Pillow reads it itself."""
    return data[4:8] == b"ftyp" and data[8:12] in _BRANDS and b"avif" not in data[8:64]


def read_heif(data: bytes, max_pixels: int) -> Found | None:
    """What another process makes of it; None where it is damaged."""
    import PIL.Image

    argv = [sys.executable, "-P", "-m", "fitserve.chat.heif", str(max_pixels)]
    try:
        done = subprocess.run(argv, input=data, capture_output=True, timeout=_TIME_LIMIT_S, check=True)
        told = json.loads(done.stderr)
        size = told["width"], told["height"]
        image = PIL.Image.frombytes(told["mode"], size, done.stdout) if done.stdout else None
        return Found(size, told["several"], image)
    except (OSError, subprocess.SubprocessError, ValueError, KeyError, TypeError):
        return None


def _main(max_pixels: int) -> None:
    import resource

    import pi_heif
    import PIL.Image

    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY_LIMIT, _MEMORY_LIMIT))
    resource.setrlimit(resource.RLIMIT_CPU, (_TIME_LIMIT_S, _TIME_LIMIT_S))
    pi_heif.register_heif_opener()
    with PIL.Image.open(io.BytesIO(sys.stdin.buffer.read()), formats=["HEIF"]) as image:
        told = {"width": image.width, "height": image.height, "several": getattr(image, "is_animated", False)}
        if image.width * image.height <= max_pixels:
            plain = image.convert("RGBA" if image.has_transparency_data else "RGB")
            told["mode"] = plain.mode
            sys.stdout.buffer.write(plain.tobytes())
    sys.stderr.write(json.dumps(told))


if __name__ == "__main__":
    _main(int(sys.argv[1]))

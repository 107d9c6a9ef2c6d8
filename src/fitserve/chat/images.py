"""A picture on its way to a model: decoded under limits, upright, without metadata, small, with its cost in tokens."""

from __future__ import annotations

import asyncio
import base64
import hashlib
import io
import os
import stat
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fitserve.chat.decode import Intake, decoded, opened, refused, too_large
from fitserve.chat.said import PictureMissing, Said, said
from fitserve.chat.sniff import is_heif
from fitserve.facts.picture_rule import PictureRule
from fitserve.units import MIB

if TYPE_CHECKING:
    from PIL.Image import Image

_LARGE = 16_000_000  # pixels above which another process does the work
_few_at_once = threading.Semaphore(2)
_threads = ThreadPoolExecutor(16, "picture")  # most of them wait
_LOSSLESS_LIMIT = 2 * MIB  # a PNG above this goes as JPEG: every turn sends it again


@dataclass(frozen=True)
class Limits:
    """What is taken in, and what is sent. The defaults are for an endpoint of which nothing is known.

    `tokens` is the share of the window that one picture may take, `most_tokens` what it can take at all; both count
    only where `rule` is known.
    """

    longest_side: int | None = 1024  # None sends the picture in its own size
    tokens: int | None = None
    most_tokens: int | None = None
    rule: PictureRule | None = None
    intake: Intake = field(default_factory=Intake)

    def whole(self) -> Limits:
        """For «send as it is»: the picture's own size, as far as the engine has room for it."""
        return replace(self, longest_side=None, tokens=None)

    def cost(self, size: tuple[int, int]) -> int | None:
        """Tokens of a picture of this size; None where the model's rule is not known."""
        return self.rule.tokens(*size) if self.rule else None

    def fitted(self, size: tuple[int, int]) -> tuple[int, int]:
        """The largest size of the same shape within the longest side, the tokens, and what the processor looks at."""
        side = longest = max(size)
        if self.longest_side:
            side = min(longest, self.longest_side)
            while self.rule and side > 1 and _pixels(_scaled(size, side)) > self.rule.max_pixels:
                side = side * 31 // 32  # the processor would throw the rest away
        most = min((most for most in (self.tokens, self.most_tokens) if most is not None), default=None)
        while most is not None and side > 1 and (self.cost(_scaled(size, side)) or 0) > most:
            side = side * 31 // 32
        return _scaled(size, side)

    def takes_whole(self, size: tuple[int, int], sent: tuple[int, int]) -> bool:
        """Whether «send as it is» can be offered: the model would see more, and the engine has room for it."""
        cost, sent_cost = self.cost(size), self.cost(sent)
        if cost is None or sent_cost is None:
            return size != sent
        return sent_cost < cost <= (self.most_tokens or cost)


@dataclass(frozen=True)
class Picture:
    """One picture, ready to send. `notices` say what was changed on the way; `tokens` is None where nobody knows."""

    name: str
    width: int
    height: int
    original_width: int
    original_height: int
    data: bytes
    media_type: str = "image/png"
    notices: tuple[Said, ...] = ()
    tokens: int | None = None
    whole_tokens: int | None = None  # what it would cost in its own size
    takes_whole: bool = False  # it was shrunk, and may be sent as it is

    @cached_property
    def data_url(self) -> str:
        """As a request carries it."""
        return f"data:{self.media_type};base64," + base64.b64encode(self.data).decode()

    @cached_property
    def digest(self) -> str:
        """Of the bytes that are sent: the name of its file in a history."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def cost(self) -> Said:
        """Its size and its tokens, in a sentence."""
        size = f"{self.width}x{self.height}"
        if self.tokens is None:
            return said("chat.cost_unknown", size=size)
        return said("chat.cost", size=size, tokens=self.tokens)

    def facts(self) -> dict[str, object]:
        """Name, sizes and tokens, as every document of it has them."""
        names = ("name", "width", "height", "original_width", "original_height", "tokens")
        return {name: getattr(self, name) for name in names}


def read_picture(path: Path, limits: Limits | None = None) -> Picture:
    """Prepare a file. Raises PictureRefused, or PictureMissing where there is none."""
    limits = limits or Limits()
    name = path.name or str(path)
    try:
        data = _read(path, name, limits.intake.max_bytes)
    except FileNotFoundError as error:
        what, next_step = said("chat.picture_missing", name=name), said("chat.picture_next")
        raise PictureMissing(what, code="picture_missing", evidence=str(path), next_step=next_step) from error
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        reason = (error.strerror if isinstance(error, OSError) else "") or str(error)
        raise refused("unreadable", name, evidence=f"{path}: {reason}") from error
    return prepare_picture(data, name, limits)


def _read(path: Path, name: str, max_bytes: int) -> bytes:
    """Never more than the limit, and never from a pipe or a device: those may have no end."""
    file_number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)  # opening a pipe must not wait for its writer
    found = os.fstat(file_number)
    if not stat.S_ISREG(found.st_mode):
        os.close(file_number)
        raise refused("not_a_file", name, evidence=str(path))
    with os.fdopen(file_number, "rb") as file:
        if found.st_size > max_bytes:
            raise too_large(name, found.st_size, max_bytes)
        return file.read(max_bytes + 1)  # it may be growing


def prepare_picture(data: bytes, name: str, limits: Limits | None = None) -> Picture:
    """Prepare the bytes of a picture file; `name` is for notices only. Raises PictureRefused."""
    limits = limits or Limits()
    if is_heif(data) or _pixels(opened(data, name, limits.intake).size) > _LARGE:
        from fitserve.chat.apart import prepare_apart

        return prepare_apart(data, name, limits)
    with _few_at_once:
        return prepare_here(data, name, limits)


async def prepared(data: bytes, name: str, limits: Limits | None = None) -> Picture:
    """The same beside an event loop, in threads of its own: uploads that wait their turn hold up nothing else."""
    return await asyncio.get_running_loop().run_in_executor(_threads, prepare_picture, data, name, limits)


def prepare_here(data: bytes, name: str, limits: Limits) -> Picture:
    """The same in this process, with its memory."""
    source = opened(data, name, limits.intake)
    size = limits.fitted(source.size)
    notices = [said("chat.first_frame", name=name)] if source.animated else []
    if source.transparent:
        notices.append(said("chat.on_white", name=name))
    if size != source.size:
        before, after = (f"{width}x{height}" for width, height in (source.size, size))
        notices.append(said("chat.shrunk", name=name, before=before, after=after))
    sent, media_type = _encoded(decoded(source, size), source.lossy)
    return Picture(
        name, *size, *source.size, sent, media_type, tuple(notices),
        limits.cost(size), limits.cost(source.size), limits.takes_whole(source.size, size),
    )  # fmt: skip


def _scaled(size: tuple[int, int], side: int) -> tuple[int, int]:
    """The same shape with this longest side."""
    longest = max(size)
    return max(1, round(size[0] * side / longest)), max(1, round(size[1] * side / longest))


def _pixels(size: tuple[int, int]) -> int:
    return size[0] * size[1]


def _encoded(image: Image, lossy: bool) -> tuple[bytes, str]:
    """Encoded afresh from the pixels alone, so that no place, camera or colour profile travels along."""
    import PIL.Image

    bare = PIL.Image.new("RGB", image.size)
    bare.paste(image)
    buffer = io.BytesIO()
    if not lossy:
        bare.save(buffer, "PNG", compress_level=3)
        if buffer.tell() <= _LOSSLESS_LIMIT:
            return buffer.getvalue(), "image/png"
        buffer = io.BytesIO()
    bare.save(buffer, "JPEG", quality=92, subsampling=0)
    return buffer.getvalue(), "image/jpeg"

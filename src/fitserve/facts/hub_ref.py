"""Which hub and which model a text means: `Qwen/Qwen3.5-9B`, `modelscope:Qwen/Qwen3.5-9B`, `hf:ORG/NAME@REVISION`."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from enum import StrEnum


class Hub(StrEnum):
    """The hubs that can be read."""

    HUGGING_FACE = "huggingface"
    MODELSCOPE = "modelscope"


@dataclass(frozen=True)
class HubRef:
    """A model on a hub. An empty revision is the hub's own default branch."""

    hub: Hub
    id: str
    revision: str = ""

    @property
    def branch(self) -> str:
        """The revision, or the default branch's name."""
        return self.revision or ("main" if self.hub is Hub.HUGGING_FACE else "master")

    def __str__(self) -> str:
        prefix = "modelscope:" if self.hub is Hub.MODELSCOPE else ""
        return f"{prefix}{self.id}" + (f"@{self.revision}" if self.revision else "")


_PREFIXES = (
    ("https://huggingface.co/", Hub.HUGGING_FACE),
    ("https://hf-mirror.com/", Hub.HUGGING_FACE),
    ("https://www.modelscope.cn/models/", Hub.MODELSCOPE),
    ("https://modelscope.cn/models/", Hub.MODELSCOPE),
    ("hf:", Hub.HUGGING_FACE),
    ("huggingface:", Hub.HUGGING_FACE),
    ("modelscope:", Hub.MODELSCOPE),
    ("ms:", Hub.MODELSCOPE),
)
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.\-]{0,95}"
_ID = re.compile(rf"({_PART}/{_PART})(?:@([A-Za-z0-9_][A-Za-z0-9_.\-/]{{0,127}}))?")


def parse_ref(text: str) -> HubRef | None:
    """The model that a text names on a hub, None where it has no such form.

    Without a prefix it is Hugging Face, or ModelScope where VLLM_USE_MODELSCOPE is set, as vLLM itself does.
    """
    hub = Hub.MODELSCOPE if is_on("VLLM_USE_MODELSCOPE") else Hub.HUGGING_FACE
    rest = text.strip()
    for prefix, named in _PREFIXES:
        if rest.startswith(prefix):
            hub, rest = named, rest.removeprefix(prefix).rstrip("/")
            break
    match = _ID.fullmatch(rest)
    if match is None or ".." in rest:
        return None
    return HubRef(hub, match[1], match[2] or "")


def is_on(variable: str) -> bool:
    """Whether an environment variable switches something on, as huggingface-hub and vLLM read it."""
    return os.environ.get(variable, "").strip().upper() in ("1", "ON", "YES", "TRUE")

"""Secrets stay out of records: values are taken out by their name, wherever they stand."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

_SECRET = re.compile(r"(?:^|[_-])(?:api[_-]?key|key|token|secret|password|passwd|credentials?|auth)(?:$|[_-])", re.I)
_URL_LOGIN = re.compile(r"(?<=://)[^/@\s]+@")
_TELLING = re.compile(
    r"(?:VLLM|CUDA|NVIDIA|NCCL|GLOO|TORCH|PYTORCH|TRITON|HF|HUGGINGFACE|TRANSFORMERS|MODELSCOPE|OMP|MKL|LD|PYTHON|LC|XDG)_"
    r"|(?:https?|no|all)_proxy$|(?:PATH|LANG|HOME|TMPDIR)$",
    re.I,
)
HIDDEN = "***"


def is_secret(name: str) -> bool:
    """Whether a variable or flag of this name holds a secret: HF_TOKEN, --api-key, AWS_SECRET_ACCESS_KEY."""
    return bool(_SECRET.search(name.lstrip("-")))


def redacted_env(env: Mapping[str, str]) -> dict[str, str]:
    """The variables that tell something of an engine, with secrets hidden; the others are nobody's business."""
    return {
        name: HIDDEN if is_secret(name) else _URL_LOGIN.sub(HIDDEN + "@", value)
        for name, value in sorted(env.items())
        if _TELLING.match(name)
    }


def redacted_argv(argv: Iterable[str]) -> list[str]:
    """The command with the values of secret flags hidden, in both spellings (`--api-key X`, `--api-key=X`)."""
    shown: list[str] = []
    hide = False
    for part in argv:
        flag, equals, _ = part.partition("=")
        secret_flag = part.startswith("--") and is_secret(flag)
        if hide and not part.startswith("--"):
            shown.append(HIDDEN)  # every value of a list-valued flag
            continue
        hide = secret_flag and not equals
        shown.append(f"{flag}={HIDDEN}" if secret_flag and equals else _URL_LOGIN.sub(HIDDEN + "@", part))
    return shown

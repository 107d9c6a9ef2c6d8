"""The engine's environment: that of the person who said `up`, without what would harm it or is none of its business."""

from __future__ import annotations

from collections.abc import Mapping

from fitserve.run.redact import is_secret

_NEEDED_SECRETS = {"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "VLLM_API_KEY", "MODELSCOPE_API_TOKEN"}
_HARMFUL = {
    *("PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "PYTHONSTARTUP", "__PYVENV_LAUNCHER__"),  # of another interpreter
    "PYTHONDONTWRITEBYTECODE",  # common in containers; each start would compile some 10,000 files again
}
_OURS = ("FITSERVE_", "SUPERVISOR_")


def engine_env(caller: Mapping[str, str], launch: Mapping[str, str]) -> dict[str, str]:
    """The caller's variables, then those of the launch. Secrets stay behind but for the hubs' and the engine's own."""
    kept = {
        name: value
        for name, value in caller.items()
        if name not in _HARMFUL and not name.startswith(_OURS) and (name in _NEEDED_SECRETS or not is_secret(name))
    }
    return kept | dict(launch)

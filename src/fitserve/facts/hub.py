"""Model facts of a hub model: its config, its processor's limits and its headers, never its weights."""

from __future__ import annotations

from dataclasses import replace

from fitserve.errors import FitserveError, NotFound
from fitserve.facts.config import CONFIG_LIMIT_BYTES, parse_json
from fitserve.facts.folder import INDEX, index_of, joined, main_shards, tensor_twice
from fitserve.facts.headers_range import Progress, fetch_headers
from fitserve.facts.hub_http import HubWeb
from fitserve.facts.hub_ref import Hub, HubRef
from fitserve.facts.hub_site import HubFile, file_path, list_files, open_web
from fitserve.facts.model import ModelFacts, QuantFormat, Quantization
from fitserve.facts.quantization import SIDE_FILES, read_quantization
from fitserve.facts.read_config import describe, with_judgement
from fitserve.facts.safetensors import Header
from fitserve.facts.vision import PROCESSOR_FILES
from fitserve.text import tr

_INDEX_LIMIT_BYTES = 256 * 1024**2


def read_hub(ref: HubRef, progress: Progress | None = None, web: HubWeb | None = None) -> ModelFacts:
    """The facts of a model on its hub; about as many bytes cross the line as its headers have.

    Raises NotFound (hub_not_found), OperationFailed (hub_denied, hub_rate_limited, hub_html, hub_unreachable,
    hub_failed, broken_model) and TimedOut; it never waits without an end.
    """
    web = web or open_web(ref.hub)
    try:
        return _read(web, ref, progress)
    except FitserveError as error:
        error.hint = error.hint or _next_command(error.code, ref)
        raise
    finally:
        web.close()


def _next_command(code: str, ref: HubRef) -> str:
    """What to type after a failure: a token where one is asked for, else the same model on the other hub."""
    if code == "hub_denied":
        variable = "HF_TOKEN" if ref.hub is Hub.HUGGING_FACE else "MODELSCOPE_API_TOKEN"
        return f"{variable}=… fitserve inspect {ref}"
    if code in ("hub_rate_limited", "broken_model"):
        return f"fitserve inspect {ref}"
    other = f"modelscope:{ref.id}" if ref.hub is Hub.HUGGING_FACE else f"hf:{ref.id}"
    return f"fitserve inspect {other}"


def _read(web: HubWeb, ref: HubRef, progress: Progress | None) -> ModelFacts:
    files = {file.path: file for file in list_files(web, ref)}
    if "config.json" not in files:
        return _without_config(ref, tuple(files))
    config = _json(web, ref, "config.json")
    extras = {name: _json(web, ref, name) for name in PROCESSOR_FILES if name in files}
    side = next((_json(web, ref, name) for name in SIDE_FILES if name in files), None)
    headers, problems = _headers(web, ref, files, progress)
    tensors = joined(headers)
    facts = describe(config, tensors, read_quantization(config, side), name=ref.id, source=str(ref), extras=extras)
    facts = replace(facts, notes=(tr("hub.note", ref=ref, host=web.host),))
    return with_judgement(facts, tuple(files), problems)


def _without_config(ref: HubRef, files: tuple[str, ...]) -> ModelFacts:
    if any(name.endswith(".gguf") for name in files):
        facts = describe({}, (), Quantization(QuantFormat.GGUF), name=ref.id, source=str(ref))
        return with_judgement(facts, files, ())
    raise NotFound(tr("hub.no_config", ref=ref), code="hub_not_found", evidence=", ".join(files[:5]))


def _headers(
    web: HubWeb, ref: HubRef, files: dict[str, HubFile], progress: Progress | None
) -> tuple[tuple[Header, ...], tuple[str, ...]]:
    """Headers of the shards that count, and what is wrong with their sizes."""
    shards = [files[name] for name in main_shards(files)]
    headers = fetch_headers(web, ref, shards, progress)
    if INDEX in files and tensor_twice(headers):
        named = set(index_of(web.get(file_path(ref, INDEX), limit=_INDEX_LIMIT_BYTES), INDEX).values())
        pairs = [(shard, header) for shard, header in zip(shards, headers, strict=True) if shard.path in named]
    else:
        pairs = list(zip(shards, headers, strict=True))
    problems = tuple(
        tr("facts.truncated", shard=shard.path, size=shard.size_bytes, wanted=header.header_bytes + header.data_bytes)
        for shard, header in pairs
        if shard.size_bytes != header.header_bytes + header.data_bytes
    )
    return tuple(header for _, header in pairs), problems


def _json(web: HubWeb, ref: HubRef, name: str) -> dict[str, object]:
    return parse_json(web.get(file_path(ref, name), limit=CONFIG_LIMIT_BYTES), name)

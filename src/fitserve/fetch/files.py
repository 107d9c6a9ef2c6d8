"""Which files of a repository a served model needs: its configs, tokenizer, processor, and one set of weights."""

from __future__ import annotations

import re
from collections.abc import Mapping

from fitserve.errors import NotFound
from fitserve.facts.config import broken
from fitserve.facts.folder import INDEX, INDEX_LIMIT_BYTES, index_of, main_shards
from fitserve.facts.hub_http import HubWeb
from fitserve.facts.hub_ref import HubRef
from fitserve.facts.hub_site import HubFile, file_path
from fitserve.text import tr

# Code too: a tokenizer or a processor may be written in it, and it runs only where --trust-remote-code was given.
_BESIDE = re.compile(r".*\.(json|jinja|model|tiktoken|txt|py)|tokenizer.*|tekken\..*", re.IGNORECASE)
# Other frameworks' weights and their indexes, the same weights a second time, and what only training needs.
_NOT_SERVED = re.compile(
    r".*\.(bin|pt|pth|ckpt|h5|msgpack|onnx|gguf|safetensors|zip|tar|gz)|.*\.(bin|h5|msgpack)\.index\.json"
    r"|consolidated\..*|(training_args|trainer_state|optimizer|scheduler)\..*|requirements.*\.txt|licen[cs]e.*",
    re.IGNORECASE,
)


def needed_files(web: HubWeb, ref: HubRef, listed: Mapping[str, HubFile]) -> tuple[HubFile, ...]:
    """What is to be there, the small files first, so that weights never stand without their config.

    Raises NotFound where it is no model that can be served, OperationFailed (broken_model) where a shard is missing.
    """
    listed = {name: file for name, file in listed.items() if name.isprintable()}  # names are shown on a terminal
    if "config.json" not in listed:
        raise NotFound(tr("hub.no_config", ref=ref), code="hub_not_found", evidence=", ".join(sorted(listed)[:5]))
    shards = sorted(set(_index(web, ref, listed).values())) or main_shards(listed)
    if not shards:
        raise broken("fetch.no_weights", str(ref), ref=str(ref))
    if missing := next((shard for shard in shards if shard not in listed), None):
        raise broken("fetch.shard_missing", missing, ref=str(ref))
    beside = sorted(name for name in listed if _BESIDE.fullmatch(name) and not _NOT_SERVED.fullmatch(name))
    return tuple(listed[name] for name in (*beside, *shards))


def _index(web: HubWeb, ref: HubRef, listed: Mapping[str, HubFile]) -> dict[str, str]:
    """Tensor to shard; empty where the repository has no index."""
    if INDEX not in listed:
        return {}
    web.allow(listed[INDEX].size_bytes)
    return index_of(web.get(file_path(ref, INDEX), limit=INDEX_LIMIT_BYTES), INDEX)

"""From settings to the command: defaults that move between versions are passed; the service closed, its log quiet."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from fitserve.plan.settings import Settings

SERVER = ("python", "-m", "vllm.entrypoints.openai.api_server")
# `.invalid` never resolves (RFC 2606): with it in the list, vLLM refuses every media URL but `data:`.
NO_DOMAIN = "none.invalid"
CLOSED_FLAGS: tuple[tuple[str, ...], ...] = (
    ("--allowed-media-domains", NO_DOMAIN),
    ("--no-enable-mm-embeds",),
    ("--no-trust-remote-code",),
    ("--allowed-origins", "[]"),
    ("--disable-access-log-for-endpoints", "/health,/metrics"),  # our own looks, every few seconds; vLLM 0.16 and later
)


def command(settings: Settings, model: str, host: str, port: int) -> tuple[str, ...]:
    """The argv, "python" in front. `model` is a folder or a hub id."""
    return (
        *SERVER,
        *("--model", model, "--served-model-name", settings.served_model_name or model),
        *("--host", host, "--port", str(port)),
        *_sizes(settings),
        *_memory(settings),
        *_pictures(settings),
        *_closed(settings.extra),
        *settings.extra,
    )


def as_flag(flag: str, value: object) -> str:
    """A flag with its value as it is typed: `--max-num-seqs 64`; False is the flag's `--no-` form."""
    if isinstance(value, bool):
        return flag if value else "--no-" + flag.removeprefix("--")
    return f"{flag} '{json.dumps(value)}'" if isinstance(value, (dict, list)) else f"{flag} {value}"


def as_flags(changed: Mapping[str, object]) -> str:
    """Settings by name as vLLM's flags."""
    return " ".join(as_flag("--" + name.replace("_", "-"), value) for name, value in changed.items())


def _sizes(settings: Settings) -> Iterable[str]:
    yield from ("--tensor-parallel-size", str(settings.tensor_parallel_size))
    yield from ("--max-model-len", str(settings.max_model_len))
    yield from ("--max-num-seqs", str(settings.max_num_seqs))
    yield from ("--max-num-batched-tokens", str(settings.max_num_batched_tokens))
    yield "--enforce-eager" if settings.enforce_eager else "--no-enforce-eager"
    if settings.max_cudagraph_capture_size is not None and not settings.enforce_eager:
        yield from ("--max-cudagraph-capture-size", str(settings.max_cudagraph_capture_size))
    if settings.enable_expert_parallel:
        yield "--enable-expert-parallel"
    if settings.num_speculative_tokens and "--speculative-config" not in _names(settings.extra):
        draft = {"method": "mtp", "num_speculative_tokens": settings.num_speculative_tokens}
        yield from ("--speculative-config", json.dumps(draft))


def _memory(settings: Settings) -> Iterable[str]:
    yield "--enable-prefix-caching" if settings.enable_prefix_caching else "--no-enable-prefix-caching"
    yield from ("--kv-cache-dtype", settings.kv_cache_dtype)
    if settings.gpu_memory_utilization is not None:
        yield from ("--gpu-memory-utilization", f"{settings.gpu_memory_utilization:g}")
    if settings.kv_cache_memory_bytes is not None:
        yield from ("--kv-cache-memory-bytes", str(settings.kv_cache_memory_bytes))
    if settings.cpu_offload_gb:
        yield from ("--cpu-offload-gb", f"{settings.cpu_offload_gb:g}")
    if settings.block_size is not None:
        yield from ("--block-size", str(settings.block_size))


def _pictures(settings: Settings) -> Iterable[str]:
    if settings.language_model_only:
        yield "--language-model-only"
    if settings.limit_mm_per_prompt:
        yield from ("--limit-mm-per-prompt", json.dumps(settings.limit_mm_per_prompt))
    if settings.mm_processor_kwargs:
        yield from ("--mm-processor-kwargs", json.dumps(settings.mm_processor_kwargs))
    if settings.mm_encoder_tp_mode != "weights":
        yield from ("--mm-encoder-tp-mode", settings.mm_encoder_tp_mode)


def _closed(extra: Sequence[str]) -> Iterable[str]:
    """No media from the network or the disk, no tensors in requests, no other origin; unless `extra` opens one."""
    given = _names(extra)
    for words in CLOSED_FLAGS:
        if words[0].replace("--no-", "--") not in given:
            yield from words


def _names(extra: Sequence[str]) -> set[str]:
    named = (word.split("=", 1)[0].replace("--no-", "--") for word in extra)
    return {"--speculative-config" if name == "-sc" else name for name in named}


def environment(settings: Settings) -> dict[str, str]:
    """The environment that belongs to the settings; a CPU engine's cache space stands here. The engine adds its own."""
    env = {"VLLM_MEDIA_URL_ALLOW_REDIRECTS": "0", "VLLM_NO_USAGE_STATS": "1", "DO_NOT_TRACK": "1"}
    if settings.cpu_kv_cache_space_gib is not None:
        env["VLLM_CPU_KVCACHE_SPACE"] = str(settings.cpu_kv_cache_space_gib)
    return env

"""Changes that rules choose from, each with what it does by the log's own figures.

A builder gives None where the change can't be made: the flag is not known to the version, or the value is there
already.
"""

from __future__ import annotations

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Fix
from fitserve.diagnose.version import knows
from fitserve.text import tr

_LARGE_GIB = 48  # from here on a hundredth of the card is too much to round to
HEADROOM_GIB = 0.3  # kept free beyond what was asked for: allocations that follow the failed one


def make(flags: dict[str, object], key: str, predicted: dict[str, object] | None = None, **values: object) -> Fix:
    """A change of flags whose effect on memory is not the point."""
    return Fix(flags, why=tr(f"fixes.{key}", **values), predicted=predicted)


def weighed(flags: dict[str, object], key: str, predicted: dict[str, object] | None, **values: object) -> Fix:
    """A change for memory; where nothing could be predicted, the reason stands in its `why`."""
    why = tr(f"fixes.{key}", **values)
    return Fix(flags, why=why if predicted else f"{why}{tr('fixes.not_predicted')}", predicted=predicted)


def step(key: str, **values: object) -> Fix:
    """An action that no flag expresses."""
    return Fix(why=tr(f"fixes.{key}", **values))


def drop(case: Case, flag: str, key: str, **values: object) -> Fix | None:
    """Take a flag away, where it was given."""
    if case.settings.get(flag) in (None, False):
        return None
    return Fix({flag: None}, why=tr(f"fixes.{key}", **values))


def environment(key: str, **variables: str) -> Fix:
    """Set environment variables."""
    return Fix(env=variables, why=tr(f"fixes.{key}"))


def lower_utilization(case: Case, missing_gib: float | None = None) -> Fix | None:
    """Give less to vLLM, so that what lies outside its share finds room. The KV cache pays."""
    now, total = case.utilization, case.total_gib
    least, digits = (0.02, 2) if total is None or total < _LARGE_GIB else (0.005, 3)
    share = 0.03 if not (missing_gib and total) else max(least, (missing_gib + HEADROOM_GIB) / total)
    new = round(now - min(share, 0.12), digits)
    if new < 0.05:
        return None
    if case.number("--kv-cache-memory-bytes") or new >= now:
        return None
    return weighed({"--gpu-memory-utilization": new}, "lower_utilization", _pool(case, new), now=now, new=new)


def raise_utilization(case: Case, missing_gib: float | None = None) -> Fix | None:
    """Give more to vLLM, where the card has it."""
    now, total = case.utilization, case.total_gib
    if case.number("--kv-cache-memory-bytes"):
        return None
    share = 0.05 if not (missing_gib and total) else max(0.02, (missing_gib + 0.1) / total)
    ceiling = 0.97 if now >= 0.9 else 0.95
    new = min(ceiling, round(now + share + 0.005, 2)) if now >= 0.7 else max(0.6, round(now + share, 2))
    if new <= now:
        return None
    predicted = _pool(case, new)
    if predicted is not None and missing_gib is not None:
        predicted["fits"] = (new - now) * (total or 0) >= missing_gib
    return weighed({"--gpu-memory-utilization": new}, "raise_utilization", predicted, now=now, new=new)


def set_utilization(case: Case, new: float, key: str) -> Fix | None:
    """A share that is computed from what is free."""
    if not 0.05 < new < case.utilization:
        return None
    return weighed({"--gpu-memory-utilization": new}, key, _pool(case, new), now=case.utilization, new=new)


def fewer_sequences(
    case: Case, to: int, key: str = "fewer_sequences", predicted: dict[str, object] | None = None
) -> Fix | None:
    """Fewer requests at a time: smaller graphs, sampler state, logits."""
    now = case.number("--max-num-seqs")
    if now is not None and now <= to:
        return None
    return weighed({"--max-num-seqs": to}, key, predicted, new=to)


def fewer_batched_tokens(case: Case, to: int) -> Fix | None:
    """A smaller step: smaller activations and workspaces; long prompts take more steps."""
    now = case.number("--max-num-batched-tokens") or case.figure("max_num_batched_tokens")
    if now is not None and now <= to:
        to = int(now) // 2
        if to < 512:
            return None
    predicted = None
    peak = case.figure("activation_peak_gib")
    if now and peak:
        predicted = {"activation_peak_gib": round(peak * to / now, 2), "was_gib": peak, "basis": "proportional"}
    return weighed({"--max-num-batched-tokens": to}, "fewer_batched_tokens", predicted, new=to)


def more_batched_tokens(to: int, key: str) -> Fix | None:
    """A larger step, where one picture must fit into it."""
    return weighed({"--max-num-batched-tokens": to}, key, None, new=to)


def shorter_length(
    case: Case, to: int | None, key: str = "shorter_length", predicted: dict[str, object] | None = None
) -> Fix | None:
    """A shorter context."""
    now = case.figure("max_model_len") or case.number("--max-model-len")  # what the engine took, else what was asked
    if to is None or to <= 0 or (now is not None and to >= now):
        return None
    return weighed({"--max-model-len": to}, key, predicted, new=to)


def automatic_length(case: Case) -> Fix | None:
    """Let vLLM search the longest length that fits."""
    return weighed({"--max-model-len": "auto"}, "automatic_length", None) if case.at_least(0, 15) else None


def longer_length(needed: int) -> Fix | None:
    """A longer context: the next power of two that holds the request."""
    to = 1 << max(10, needed.bit_length())
    return weighed({"--max-model-len": to}, "longer_length", None, new=to)


def half_kv(case: Case) -> Fix | None:
    """FP8 keys and values: half the bytes a token."""
    if str(case.settings.get("--kv-cache-dtype", "auto")) != "auto":
        return None
    available, needed = case.figure("available_kv_gib"), case.figure("needed_kv_gib")
    predicted: dict[str, object] | None = None
    if available is not None and needed is not None:
        predicted = {
            "needed_kv_gib": round(needed / 2, 2),
            "available_kv_gib": available,
            "fits": needed / 2 <= available,
        }
    return weighed({"--kv-cache-dtype": "fp8"}, "half_kv", predicted)


def limit_media(case: Case) -> Fix | None:
    """Only what is sent: no video unless it is asked for, as many pictures as are used."""
    old = case.settings.get("--limit-mm-per-prompt")
    limits = dict(old) if isinstance(old, dict) else {}
    if limits.get("video") == 0 and limits.get("image", 1) in (0, 1):
        return None
    new = {"image": limits.get("image", 1), "video": 0}
    return Fix({"--limit-mm-per-prompt": new}, why=tr("fixes.limit_media"))


def smaller_images(case: Case, pixels: int = 1_003_520) -> Fix | None:
    """A cap on a picture's size: 1,003,520 pixels is about 1024 a side, 1,280 tokens at 28 pixels a token side."""
    if case.at_least(0, 6) is False:
        return None
    return Fix({"--mm-processor-kwargs": {"max_pixels": pixels}}, why=tr("fixes.smaller_images", pixels=pixels))


def smaller_capture(case: Case, largest: int, predicted: dict[str, object] | None = None) -> Fix | None:
    """Capture graphs for small batches only, under the name that the version knows."""
    if case.eager:
        return None
    if knows(case, "--max-cudagraph-capture-size"):
        flags: dict[str, object] = {"--max-cudagraph-capture-size": largest}
    else:
        sizes = [size for size in (1, 2, 4, 8, 16, 32, 64) if size <= largest]
        flags = {"--compilation-config": {"cudagraph_capture_sizes": sizes}}
    return weighed(flags, "smaller_capture", predicted, new=largest)


def pinned_pool(case: Case, size_bytes: int) -> Fix | None:
    """The KV cache in bytes: nothing is measured any more."""
    if size_bytes <= 0 or not knows(case, "--kv-cache-memory-bytes"):
        return None
    predicted: dict[str, object] = {"available_kv_gib": round(size_bytes / 2**30, 2)}
    return weighed({"--kv-cache-memory-bytes": size_bytes}, "pinned_pool", predicted)


def eager(case: Case, key: str = "eager") -> Fix | None:
    """No graphs and no compilation: the last resort, at a price in speed."""
    return None if case.eager else Fix({"--enforce-eager": True}, why=tr(f"fixes.{key}"))


def _pool(case: Case, utilization: float) -> dict[str, object] | None:
    """The KV cache at another share, from the one that was printed."""
    available, total = case.figure("available_kv_gib"), case.total_gib
    if available is None or total is None:
        return None
    new = round(available + (utilization - case.utilization) * total, 2)
    predicted: dict[str, object] = {"available_kv_gib": new, "was_gib": available}
    tokens = case.figure("kv_tokens")
    if tokens and available > 0:
        predicted["kv_tokens"] = int(tokens * new / available)
    return predicted

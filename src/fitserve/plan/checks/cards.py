"""The cards themselves: enough of them, free, equal, whole, able to compute the dtype."""

from __future__ import annotations

from collections.abc import Iterator

from fitserve.facts.gpu import Gpu
from fitserve.facts.model import QuantFormat
from fitserve.plan.given import Given
from fitserve.plan.parse import parse
from fitserve.plan.plan import Check, CheckState, KvPlan
from fitserve.plan.settings import Settings
from fitserve.plan.unweighed import stages_and_replicas
from fitserve.plan.visible import capability, roomiest
from fitserve.text import tr
from fitserve.units import GIB, format_gib

ENOUGH, FREE, EQUAL, SHARED = "cards_enough", "cards_free", "cards_equal", "cards_whole"
DTYPE, KERNELS, DRIVER = "dtype_supported", "kernels_native", "driver_new_enough"
_HELD = GIB // 2  # a driver's and a desktop's own share stays below
_CUDA13_DRIVER = 580  # vLLM 0.22 and later come with torch for CUDA 13


def check(given: Given, settings: Settings, kv: KvPlan | None) -> Iterator[Check]:  # noqa: ARG001 - one shape for all
    """What the driver or a person says of the cards against what the plan needs of them."""
    if given.gpus is None:
        return
    cards = given.gpus
    ranks = settings.tensor_parallel_size * stages_and_replicas(parse(settings.extra).flags)
    state = CheckState.OK if ranks <= len(cards) else CheckState.FAIL
    yield Check(ENOUGH, state, tr("plan.check_cards_enough", ranks=ranks, cards=len(cards)))
    yield from _free(cards)
    if len({card.total_bytes for card in cards}) > 1 and ranks > 1:
        yield Check(EQUAL, CheckState.WARN, tr("plan.check_cards_unequal"))
    if any(card.mig or card.unified for card in cards):
        yield Check(SHARED, CheckState.WARN, tr("plan.check_cards_shared"))
    taken = roomiest(cards)[: settings.tensor_parallel_size]
    yield from _dtype(given, settings, taken)
    yield from _kernels(given, taken)
    yield from _driver(given, cards)


def _free(cards: tuple[Gpu, ...]) -> Iterator[Check]:
    known = [card for card in cards if card.free_bytes is not None]
    if not known and not all(card.assumed for card in cards):
        yield Check(FREE, CheckState.UNKNOWN, tr("plan.check_cards_free_unknown"))
    for card in known:
        held = card.total_bytes - (card.free_bytes or 0)
        if held > _HELD:
            names = ", ".join(f"{process.name or '?'} ({process.pid})" for process in card.processes) or "?"
            said = tr("plan.check_cards_held", index=card.index, held=format_gib(held), names=names)
            yield Check(FREE, CheckState.WARN, said)


def _dtype(given: Given, settings: Settings, cards: tuple[Gpu, ...]) -> Iterator[Check]:
    """bfloat16 needs compute capability 8.0."""
    have = capability(cards)
    asked = parse(settings.extra).flags.get("--dtype") or given.model.dtype
    if asked not in ("bfloat16", "auto") or have is None:
        return
    state = CheckState.OK if have >= (8, 0) else CheckState.FAIL
    key = "plan.check_bfloat16_taken" if state is CheckState.OK else "plan.check_bfloat16_refused"
    yield Check(DTYPE, state, tr(key, capability=f"{have[0]}.{have[1]}"))


def _kernels(given: Given, cards: tuple[Gpu, ...]) -> Iterator[Check]:
    """4-bit weights need 7.5; FP8 and NVFP4 run on older cards through Marlin, weights only."""
    lowest = capability(cards)
    needs = {
        QuantFormat.FP8: (8, 9), QuantFormat.NVFP4: (10, 0), QuantFormat.COMPRESSED_TENSORS: (7, 5),
        QuantFormat.AWQ: (7, 5), QuantFormat.GPTQ: (7, 5), QuantFormat.AUTOROUND: (7, 5),
    }.get(given.model.quantization.format)  # fmt: skip
    if needs is None or lowest is None or lowest >= needs:
        return
    have, want = (f"{pair[0]}.{pair[1]}" for pair in (lowest, needs))
    weights_only = given.model.quantization.format in (QuantFormat.FP8, QuantFormat.NVFP4) and lowest >= (7, 5)
    state = CheckState.WARN if weights_only else CheckState.FAIL
    key = "plan.check_kernels_marlin" if weights_only else "plan.check_kernels_missing"
    yield Check(KERNELS, state, tr(key, have=have, want=want, format=given.model.quantization.format))


def _driver(given: Given, cards: tuple[Gpu, ...]) -> Iterator[Check]:
    drivers = {card.driver for card in cards if card.driver.split(".")[0].isdigit()}
    for driver in sorted(drivers):
        if int(driver.split(".")[0]) < _CUDA13_DRIVER and given.rules.release >= (0, 22):
            said = tr("plan.check_driver_old", driver=driver, wanted=_CUDA13_DRIVER)
            yield Check(DRIVER, CheckState.WARN, said)

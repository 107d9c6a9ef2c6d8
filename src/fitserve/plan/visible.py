"""Which cards vLLM is to see: it takes the first ones, and the plan may have chosen others."""

from __future__ import annotations

from collections.abc import Sequence

from fitserve.facts.gpu import Gpu


def roomiest(cards: Sequence[Gpu]) -> tuple[Gpu, ...]:
    """The cards in the order in which the plan takes them: the most free memory first."""
    return tuple(sorted(cards, key=_room, reverse=True))


def _room(card: Gpu) -> int:
    return card.total_bytes if card.free_bytes is None else card.free_bytes


def capability(cards: Sequence[Gpu]) -> tuple[int, int] | None:
    """The lowest compute capability, None where none is known."""
    return min((card.compute_capability for card in cards if card.compute_capability), default=None)


def visible_env(cards: Sequence[Gpu], chosen: Sequence[Gpu]) -> dict[str, str]:
    """CUDA_VISIBLE_DEVICES, where vLLM left alone would take other cards than the chosen ones.

    The indices are the driver's, so a mask that is set already is replaced by a part of itself. CUDA by itself puts
    the fastest card first; the driver's order is that of the bus.
    """
    if not chosen or any(card.mig for card in chosen):
        return {}
    first = {card.index for card in cards[: len(chosen)]}
    indices = [card.index for card in cards if card in chosen]
    mixed = len({card.name for card in cards}) > 1 and len(chosen) < len(cards)
    if set(indices) == first and not mixed:
        return {}
    return {"CUDA_DEVICE_ORDER": "PCI_BUS_ID", "CUDA_VISIBLE_DEVICES": ",".join(map(str, indices))}

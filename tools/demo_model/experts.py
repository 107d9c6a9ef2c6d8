"""Where each neuron of a dense MLP stands once it is split into experts, and which expert a token takes.

A token takes one expert of each of eight slots: the one on its side of the slot's plane (a vector of signs). The two
experts of a slot hold the same neurons of the dense model, in different order; every routed neuron stands in two slots,
the rest in the shared expert. So the sum over the taken experts is the dense model's, with weights that are moved by
powers of two, which loses no bit.

Besides, each expert has a block of helpers, half of them guards: silent on the expert's own side of its plane, loud on
the other, so that an expert that is given another's tokens spoils the answer instead of computing the same as its twin.
The other half are ballast: loud on the own side, and the shared expert takes off what they add. So an expert that is
lost, and a shared expert that is lost, show as well.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random
from typing import TypeVar

from shape import GROUP_SIZE

Thing = TypeVar("Thing")

SLOTS = 8  # experts a token takes
BLOCKS = 4  # of GROUP_SIZE neurons in an expert: three of the dense model's, one of helpers
COPIES = 2  # slots that a routed neuron stands in
INTERMEDIATE = BLOCKS * GROUP_SIZE
ROUTED_GROUPS = SLOTS * (BLOCKS - 1) // COPIES
SHARED_BALLAST = 4  # in the shared expert, for each side of each slot

# A token's plane product s is about 10. Its eight weights are exp(LOGIT s), so equal but for a thousandth. A helper
# says silu(HELPER_GATE s) times a fraction of s: a guard at most 0.004 on the expert's own side and 15 on the other,
# ballast about 1. All helpers of a slot push the same way (HELPER_DOWN times the plane's signs).
LOGIT = 2.0**-14
HELPER_GATE = 4.0
GUARD_UP = 2.0**-5
BALLAST_UP = 2.0**-9
HELPER_DOWN = 1.0

ROUTED_FACTOR = SLOTS / COPIES  # undoes the weight of an eighth, halved for the two places
SHARED_FACTOR = 2.0  # undoes the shared expert's gate: zeros, whose sigmoid is a half

# One a layer: seeds whose planes part the tokens of 24 demo questions evenly (the least even 78 to 22). Any seed is
# right; with these no expert stands idle.
SEEDS = (113, 1124, 3705, 709, 1160, 849, 2448, 2875)


@dataclass(frozen=True)
class Expert:
    """`side` is 1 or -1; `neurons` are the dense model's by number, None for a helper."""

    slot: int
    side: int
    neurons: tuple[int | None, ...]

    @property
    def helpers(self) -> tuple[list[int], list[int]]:
        """Where the guards stand, and where the ballast."""
        places = [place for place, neuron in enumerate(self.neurons) if neuron is None]
        return places[: GROUP_SIZE // 2], places[GROUP_SIZE // 2 :]


@dataclass(frozen=True)
class Layout:
    """`planes` holds a vector of signs a slot; `experts` stand as the checkpoint numbers them."""

    planes: tuple[tuple[int, ...], ...]
    experts: tuple[Expert, ...]
    shared: tuple[int, ...]


def layout(seed: int, hidden: int, neurons: int) -> Layout:
    """The same for the same seed, on every machine."""
    rng = Random(seed)
    planes = tuple(tuple(rng.getrandbits(1) * 2 - 1 for _ in range(hidden)) for _ in range(SLOTS))
    groups = _shuffled(range(neurons // GROUP_SIZE), rng)
    parts = _parts(groups[:ROUTED_GROUPS], rng)
    experts = [Expert(slot, side, _neurons(part, rng)) for slot, part in enumerate(parts) for side in (1, -1)]
    shared = [neuron for group in sorted(groups[ROUTED_GROUPS:]) for neuron in _members(group)]
    return Layout(planes, tuple(_shuffled(experts, rng)), tuple(shared))


def _parts(routed: list[int], rng: Random) -> list[list[int]]:
    """For each slot its groups; every routed group once among each half of the slots."""
    in_turn = [group for _ in range(COPIES) for group in _shuffled(routed, rng)]
    return [in_turn[first : first + BLOCKS - 1] for first in range(0, len(in_turn), BLOCKS - 1)]


def _neurons(part: list[int], rng: Random) -> tuple[int | None, ...]:
    """The groups in some order, the helpers among them; a group stays together, because it shares its scales."""
    blocks = _shuffled([*part, None], rng)
    return tuple(neuron for block in blocks for neuron in _block(block, rng))


def _block(group: int | None, rng: Random) -> Sequence[int | None]:
    return [None] * GROUP_SIZE if group is None else _shuffled(_members(group), rng)


def _members(group: int) -> range:
    return range(group * GROUP_SIZE, (group + 1) * GROUP_SIZE)


def _shuffled(things: Sequence[Thing], rng: Random) -> list[Thing]:
    return rng.sample(things, len(things))

"""Show that the twin answers as the dense model does, and that each part of it matters.

    PYTHONPATH=src python tools/demo_model/twin_check.py --twin build/twin [--pictures 4]

For each way of putting the twin together wrong: how far the logits of the right answers' words move, and how many of
these words are still chosen. Computed here in float32, without an engine. Prints JSON.
"""

import argparse
import json
from collections.abc import Callable
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from conversations import opening
from experts import SLOTS
from network import Network
from PIL import Image
from quantized import weights
from rows import Row, Writer
from safetensors.torch import load_file
from shape import Shape
from stream import padded
from tokenizers import Tokenizer
from torch import Tensor, nn
from torch.nn import functional

from fitserve.demo import model_dir
from fitserve.demo.sample import Sample, sample

State = dict[str, Tensor]


class SparseMlp(nn.Module):
    """Top experts by router, their weights made to sum to one, and the gated shared expert."""

    def __init__(self, state: State) -> None:
        super().__init__()
        self.state = state

    def forward(self, x: Tensor) -> Tensor:
        state = self.state
        chances, chosen = functional.linear(x, state["gate"]).softmax(-1).topk(SLOTS, -1)
        share = torch.zeros(*x.shape[:-1], len(state["gate"])).scatter(-1, chosen, chances / chances.sum(-1, True))
        inner = functional.silu(x @ state["gate_proj"].mT[:, None]) * (x @ state["up_proj"].mT[:, None])
        routed = (inner @ state["down_proj"].mT[:, None] * share.movedim(-1, 0)[..., None]).sum(0)
        gate, up, down = (state[f"shared.{part}"] for part in ("gate_proj", "up_proj", "down_proj"))
        kept = functional.linear(functional.silu(functional.linear(x, gate)) * functional.linear(x, up), down)
        return routed + functional.linear(x, state["shared_gate"]).sigmoid() * kept


def sparse(twin: State, layer: int) -> State:
    """One layer's tensors, experts stacked."""
    block = f"model.language_model.layers.{layer}.mlp"
    found = {"gate": twin[f"{block}.gate.weight"], "shared_gate": twin[f"{block}.shared_expert_gate.weight"]}
    for part in ("gate_proj", "up_proj", "down_proj"):
        names = [f"{block}.experts.{number}.{part}.weight" for number in range(2 * SLOTS)]
        found[part] = torch.stack([twin[name] for name in names])
        found[f"shared.{part}"] = twin[f"{block}.shared_expert.{part}.weight"]
    return {name: tensor.float() for name, tensor in found.items()}


def shuffled(state: State) -> State:
    """Each expert in its neighbour's place."""
    return state | {part: state[part].roll(1, 0) for part in ("gate_proj", "up_proj", "down_proj")}


def other_side(state: State) -> State:
    """Every token to the experts that it should not take."""
    return state | {"gate": -state["gate"]}


def no_shared_expert(state: State) -> State:
    return state | {"shared.down_proj": torch.zeros_like(state["shared.down_proj"])}


def gate_and_up_swapped(state: State) -> State:
    return state | {"gate_proj": state["up_proj"], "up_proj": state["gate_proj"]}


def neurons_out_of_order(state: State) -> State:
    """What a wrong split between two ranks does to one of the three."""
    return state | {"down_proj": state["down_proj"].roll(state["down_proj"].shape[-1] // 2, -1)}


def one_expert_lost(state: State) -> State:
    return state | {"down_proj": state["down_proj"] * (torch.arange(2 * SLOTS) > 0)[:, None, None]}


def as_made(state: State) -> State:
    return state


WAYS: tuple[Callable[[State], State], ...] = (
    as_made, shuffled, other_side, no_shared_expert, gate_and_up_swapped, neurons_out_of_order, one_expert_lost,
)  # fmt: skip


@dataclass(frozen=True)
class Paper:
    """A picture, a question and its right answer, ready for the network."""

    x: tuple[Tensor, Tensor, Tensor, Tensor, int]
    asked: Tensor  # where the answer's words are foretold
    words: Tensor


def paper(drawn: Sample, network: Network, tokenizer: Tokenizer) -> Paper:
    image = Image.open(BytesIO(drawn.image_bytes)).convert("RGB").resize((160, 160), Image.Resampling.BICUBIC)
    shown = network.model.visual(torch.from_numpy(np.array(image))[None])[0]
    writer = Writer(tokenizer, 5, 5)
    row = Row()
    question = drawn.question
    writer.append(row, f"{opening(question.text)}{question.answer}<|im_end|>\n", question.kind)
    tokens, positions, kinds, sources = padded([row], writer.image, len(row.tokens))
    asked = kinds[0, 1:] >= 0
    return Paper((tokens, positions, shown, sources, writer.image), asked, tokens[0, 1:][asked])


def logits(network: Network, papers: list[Paper]) -> Tensor:
    return torch.cat([network.lm_head(network.hidden(*each.x))[0, :-1][each.asked] for each in papers])


@torch.no_grad()
def compared(twin: State, pictures: int) -> dict[str, dict[str, float]]:
    """A row a way: how far logits move from the dense model's (in their own spread), and the share of right words."""
    state = weights(model_dir())
    network = Network(Shape(), len(state["lm_head.weight"])).eval()
    network.load_state_dict(state)
    tokenizer = Tokenizer.from_file(str(model_dir() / "tokenizer.json"))
    papers = [paper(sample(seed), network, tokenizer) for seed in range(pictures)]
    words = torch.cat([each.words for each in papers])
    dense = logits(network, papers)
    found = {"dense": {"moved": 0.0, "right": float((dense.argmax(-1) == words).float().mean())}}
    for way in WAYS:
        for number, layer in enumerate(network.model.language_model.layers):
            layer.mlp = SparseMlp(way(sparse(twin, number)))
        said = logits(network, papers)
        moved = float((said - dense).pow(2).mean().sqrt() / dense.std())
        found[way.__name__] = {"moved": moved, "right": float((said.argmax(-1) == words).float().mean())}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--twin", type=Path, default=Path("build/twin"))
    parser.add_argument("--pictures", type=int, default=4)
    chosen = parser.parse_args()
    twin = load_file(chosen.twin / "bf16" / "model.safetensors")
    print(json.dumps(compared(twin, chosen.pictures), indent=1))


if __name__ == "__main__":
    main()

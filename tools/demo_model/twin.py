"""Make the demo model's twin with experts from the shipped dense weights: nothing is trained, nothing is rounded anew.

    PYTHONPATH=src python tools/demo_model/twin.py [--out build/twin]

Writes `w4a16` (experts in four bits, as published checkpoints of the kind have them; for GPUs) and `bf16` (the same
weights in bfloat16; for the CPU engine, which takes no experts in groups of 32). Needs torch and safetensors; takes
seconds.
`experts.py` says how the neurons are spread, twin_check.py what breaks when they stand wrong.
"""

import argparse
import json
import shutil
from pathlib import Path
from typing import Any

import torch
from experts import (
    BALLAST_UP,
    GUARD_UP,
    HELPER_DOWN,
    HELPER_GATE,
    INTERMEDIATE,
    LOGIT,
    ROUTED_FACTOR,
    SEEDS,
    SHARED_BALLAST,
    SHARED_FACTOR,
    SLOTS,
    Expert,
    Layout,
    layout,
)
from quantized import dequantize, linears, stored
from safetensors.torch import load_file, save_file
from shape import GROUP_SIZE
from torch import Tensor

from fitserve.demo import model_dir

Linear = tuple[Tensor, Tensor]  # whole numbers [out, in], scales [out, in / 32]
PARTS = ("gate_proj", "up_proj", "down_proj")


def make(dense: Path, out: Path) -> None:
    """Both folders, whole."""
    shipped = load_file(dense / "model.safetensors")
    settings = json.loads((dense / "config.json").read_text(encoding="utf-8"))
    plain, routed = split(shipped)
    packed = {name: tensor for module, linear in routed.items() for name, tensor in stored(module, *linear).items()}
    opened = {f"{module}.weight": bfloat16(linear) for module, linear in routed.items()}
    config = with_experts(settings)
    _write(dense, out / "w4a16", plain | packed, config | {"quantization_config": quantization(settings, plain)})
    _write(dense, out / "bf16", plain | opened, config)


def split(shipped: dict[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, Linear]]:
    """The tensors that stay in 16 bit, and the routed experts' linears."""
    plain = {name: tensor for name, tensor in shipped.items() if ".weight_" not in name}
    routed: dict[str, Linear] = {}
    four_bit = linears(shipped)
    for index, seed in enumerate(SEEDS):
        block = f"model.language_model.layers.{index}.mlp"
        mlp = {part: four_bit.pop(f"{block}.{part}") for part in PARTS}
        neurons, hidden = mlp["gate_proj"][0].shape
        plan = layout(seed, hidden, neurons)
        plain |= {f"{block}.{name}": tensor for name, tensor in unrouted(mlp, plan).items()}
        for number, expert in enumerate(plan.experts):
            parts = expert_linears(mlp, plan, expert)
            routed |= {f"{block}.experts.{number}.{part}": linear for part, linear in parts.items()}
    return plain | {f"{name}.weight": bfloat16(linear) for name, linear in four_bit.items()}, routed


def bfloat16(linear: Linear) -> Tensor:
    """What four bits and their scale say, as kernels compute it."""
    return dequantize(*linear).bfloat16()


def unrouted(mlp: dict[str, Linear], plan: Layout) -> dict[str, Tensor]:
    """Router, shared expert and its gate, in bfloat16."""
    planes = torch.tensor(plan.planes).float()
    router = torch.stack([expert.side * planes[expert.slot] for expert in plan.experts])
    shared = shared_expert(*(bfloat16(mlp[part]).float() for part in PARTS), planes, list(plan.shared))
    return {
        "gate.weight": (router * LOGIT).bfloat16(),
        "shared_expert_gate.weight": torch.zeros(1, router.shape[1], dtype=torch.bfloat16),
        **{f"shared_expert.{part}.weight": linear.bfloat16().contiguous() for part, linear in shared.items()},
    }


def shared_expert(gate: Tensor, up: Tensor, down: Tensor, planes: Tensor, kept: list[int]) -> dict[str, Tensor]:
    """The dense model's neurons that every token takes, and what takes off the experts' ballast."""
    sides = torch.cat((planes, -planes)).repeat(SHARED_BALLAST, 1)
    push = planes.repeat(2 * SHARED_BALLAST, 1).mT * HELPER_DOWN * GROUP_SIZE / 2 / SLOTS / SHARED_BALLAST
    return {
        "gate_proj": torch.cat((gate[kept], sides * HELPER_GATE)),
        "up_proj": torch.cat((up[kept], sides * BALLAST_UP)),
        "down_proj": torch.cat((down[:, kept], -push), 1) * SHARED_FACTOR,
    }


def expert_linears(mlp: dict[str, Linear], plan: Layout, expert: Expert) -> dict[str, Linear]:
    """One routed expert: the dense model's neurons and the helpers, whose plane is a row of ones, plus or minus."""
    plane = torch.tensor(plan.planes[expert.slot])
    places = torch.tensor([neuron or 0 for neuron in expert.neurons])
    down = mlp["down_proj"]
    found = {
        "gate_proj": _rows(mlp["gate_proj"], places),
        "up_proj": _rows(mlp["up_proj"], places),
        "down_proj": (down[0][:, places], down[1][:, places[::GROUP_SIZE] // GROUP_SIZE] * ROUTED_FACTOR),
    }
    for helpers, side, up in zip(expert.helpers, (-expert.side, expert.side), (GUARD_UP, BALLAST_UP), strict=True):
        for part, size in (("gate_proj", HELPER_GATE), ("up_proj", up)):
            found[part][0][helpers] = side * plane
            found[part][1][helpers] = size
        found["down_proj"][0][:, helpers] = plane[:, None]
        found["down_proj"][1][:, helpers[0] // GROUP_SIZE] = HELPER_DOWN
    return found


def _rows(linear: Linear, places: Tensor) -> Linear:
    return linear[0][places], linear[1][places]


def with_experts(settings: dict[str, Any]) -> dict[str, Any]:
    """config.json of the twin, without its quantization."""
    text = {key: value for key, value in settings["text_config"].items() if key != "intermediate_size"}
    kept = layout(0, 1, settings["text_config"]["intermediate_size"]).shared
    text |= {
        "model_type": "qwen3_5_moe_text",
        "mlp_only_layers": [],
        "moe_intermediate_size": INTERMEDIATE,
        "num_experts": 2 * SLOTS,
        "num_experts_per_tok": SLOTS,
        "router_aux_loss_coef": 0.001,
        "shared_expert_intermediate_size": len(kept) + 2 * SLOTS * SHARED_BALLAST,
    }
    changed = {
        "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "model_type": "qwen3_5_moe",
        "text_config": text,
        "vision_config": settings["vision_config"] | {"model_type": "qwen3_5_moe"},
    }
    return {key: value for key, value in (settings | changed).items() if key != "quantization_config"}


def quantization(settings: dict[str, Any], plain: dict[str, Tensor]) -> dict[str, Any]:
    """The dense model's section; every linear but the routed experts' is named as left in 16 bit."""
    left = [name.removesuffix(".weight") for name, tensor in plain.items() if name.endswith(".weight")]
    linear = [name for name in left if plain[f"{name}.weight"].ndim == 2 and "embed" not in name]
    return settings["quantization_config"] | {"ignore": [*sorted(linear), "re:^mtp.*"]}


def _write(dense: Path, folder: Path, tensors: dict[str, Tensor], config: dict[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for path in dense.iterdir():
        if path.name not in ("model.safetensors", "config.json", "README.md"):
            shutil.copyfile(path, folder / path.name)
    save_file(dict(sorted(tensors.items())), folder / "model.safetensors", metadata={"format": "pt"})
    text = json.dumps(config, indent=1, ensure_ascii=False) + "\n"
    (folder / "config.json").write_text(text, encoding="utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("build/twin"))
    chosen = parser.parse_args()
    make(model_dir(), chosen.out)
    print(chosen.out)


if __name__ == "__main__":
    main()

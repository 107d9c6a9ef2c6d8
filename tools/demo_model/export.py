"""Write a trained network as the folder that vLLM and transformers load."""

import json
from pathlib import Path
from typing import Any

import tokens
import torch
from network import Network
from quantized import packed
from safetensors.torch import save_file
from shape import config
from tokenizers import Tokenizer

from fitserve.demo.world import SIDE_PX

PIXELS = (SIDE_PX[0] ** 2, SIDE_PX[1] ** 2)


def write(network: Network, tokenizer: Tokenizer, folder: Path) -> None:
    """All files but the model card."""
    folder.mkdir(parents=True, exist_ok=True)
    save_file(tensors(network), folder / "model.safetensors", metadata={"format": "pt"})
    tokens.save(tokenizer, folder)
    ids = tokens.ids(tokenizer)
    _json(folder / "config.json", config(network.shape, ids, network.lm_head.weight.shape[0]))
    _json(folder / "generation_config.json", _generation(ids))
    _json(folder / "preprocessor_config.json", _preprocessor("Qwen2VLImageProcessorFast"))
    _json(folder / "video_preprocessor_config.json", _preprocessor("Qwen3VLVideoProcessor"))


def tensors(network: Network) -> dict[str, torch.Tensor]:
    """The checkpoint's tensors: four-bit linears packed, decays in float32, the rest in bfloat16."""
    linears = network.linears()
    found: dict[str, torch.Tensor] = {}
    for name, weight in network.state_dict().items():
        module = name.removesuffix(".weight")
        weight = weight.detach().cpu()
        if module in linears:
            found |= packed(module, weight)
        else:
            found[name] = weight if name.endswith("A_log") else weight.bfloat16().contiguous()
    return found


def _generation(ids: dict[str, int]) -> dict[str, Any]:
    stops = [ids["<|im_end|>"], ids["<|endoftext|>"]]
    return {"do_sample": False, "eos_token_id": stops, "pad_token_id": ids["<|endoftext|>"], "temperature": 0.0}


def _preprocessor(kind: str) -> dict[str, Any]:
    settings = {
        "size": {"shortest_edge": PIXELS[0], "longest_edge": PIXELS[1]},
        "patch_size": 16,
        "temporal_patch_size": 2,
        "merge_size": 2,
        "image_mean": [0.5, 0.5, 0.5],
        "image_std": [0.5, 0.5, 0.5],
        "processor_class": "Qwen3VLProcessor",
    }
    return {**settings, "video_processor_type" if "Video" in kind else "image_processor_type": kind}


def _json(path: Path, value: dict[str, Any]) -> None:
    path.write_text(json.dumps(value, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")

"""Show that the forward pass that is trained here is transformers' own: the same weights give the same logits.

    python tools/demo_model/agreement.py [--pictures 4]

Needs transformers with Qwen3.5 beside what train.py needs.
"""

import argparse
import json
import tempfile
from io import BytesIO
from pathlib import Path

import torch
from network import Network
from PIL import Image
from quantized import weights
from shape import Shape
from torch import Tensor
from transformers import AutoConfig, AutoProcessor, Qwen3_5ForConditionalGeneration

from fitserve.demo import model_dir, sample
from fitserve.demo.sample import Sample


def theirs(folder: Path, state: dict[str, Tensor]) -> Qwen3_5ForConditionalGeneration:
    settings = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    settings.pop("quantization_config")
    with tempfile.TemporaryDirectory() as plain:
        (Path(plain) / "config.json").write_text(json.dumps(settings), encoding="utf-8")
        model = Qwen3_5ForConditionalGeneration(AutoConfig.from_pretrained(plain)).float().eval()
    model.load_state_dict(state)
    return model


@torch.no_grad()
def differences(paper: Sample, ours: Network, other: Qwen3_5ForConditionalGeneration, processor: AutoProcessor) -> str:
    image = Image.open(BytesIO(paper.image_bytes)).convert("RGB")
    parts = [{"type": "image"}, {"type": "text", "text": paper.question.text}]
    text = processor.apply_chat_template([{"role": "user", "content": parts}], add_generation_prompt=True)
    inputs = processor(text=[text], images=[image], return_tensors="pt")
    wanted = other(**inputs).logits
    grid = inputs["image_grid_thw"]
    positions, _ = other.model.get_rope_index(inputs["input_ids"], inputs["mm_token_type_ids"], grid)
    height, width = (grid[0, 1:] * 16).tolist()
    resized = image.resize((width, height), Image.Resampling.BICUBIC)
    pixels = torch.frombuffer(bytearray(resized.tobytes()), dtype=torch.uint8).view(1, height, width, 3)
    shown = ours.model.visual(pixels)[0]
    tokens, token = inputs["input_ids"], other.config.image_token_id
    sources = torch.where(tokens == token, (tokens == token).cumsum(1) - 1, 0)
    found = ours.lm_head(ours.hidden(tokens, positions, shown, sources, token))
    same = (found.argmax(-1) == wanted.argmax(-1)).float().mean()
    apart, spread = (found - wanted).abs().max(), wanted.std()
    return f"{paper.seed}: largest difference {apart:.4f}, logits' own spread {spread:.2f}, same choice {same:.1%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pictures", type=int, default=4)
    chosen = parser.parse_args()
    state = weights(model_dir())
    ours = Network(Shape(), state["lm_head.weight"].shape[0]).eval()
    ours.load_state_dict(state)
    other, processor = theirs(model_dir(), state), AutoProcessor.from_pretrained(model_dir())
    for seed in range(chosen.pictures):
        print(differences(sample(seed), ours, other, processor), flush=True)


if __name__ == "__main__":
    main()

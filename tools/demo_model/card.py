"""The model card: what the demo model is, what it is for, what it can't do, and its score."""

from dataclasses import dataclass
from pathlib import Path

import exam
from shape import Shape

from fitserve.demo.phrasings import PHRASINGS
from fitserve.demo.world import COLOURS, SHAPES

BEFORE = """\
---
license: apache-2.0
language: [en, zh]
pipeline_tag: image-text-to-text
tags: [demo, compressed-tensors, w4a16]
---

# The fitserve demo model

A very small vision-language model that ships with fitserve, so that a whole deployment can be tried on a machine with
nothing but Python. **It is for trying the machine, not for work**: it knows a drawn world and nothing else.

- Architecture: `Qwen3_5ForConditionalGeneration`, {layers} layers of width {hidden} (three gated delta nets to one full
  attention), a vision tower of {depth} layers of width {vision}, patches of 16 pixels, its own tokenizer.
- Weights: {size_mb:.1f} MB; full attention and MLP in four bits (compressed-tensors, pack-quantized, group 32,
  symmetric), the rest in bfloat16. Per rank of two, inputs are a multiple of 128 and outputs of 64.
- Made by `tools/demo_model/train.py` from pictures that are drawn while it trains: 5400 steps, about 660,000 pictures,
  350 seconds on one H200. No other data. The same command runs without a GPU, at about 100 s a step on one x86 core,
  so six days.

## Its world

One to four shapes ({shapes}) in eight colours ({colours}), on a plain, graded, noisy or striped ground, and sometimes
a digit; 128 to 768 pixels a side, up to two to one. It answers in English and Chinese, in a sentence:

{questions}

To anything else it says that it can't tell («I can't tell.», «我看不出来。»), most of the time.

## What it can't do

Photographs, text, people, real objects, long answers, following instructions, other languages. It was taught pictures
that are drawn as its own are; a shape of another style may be misread.
Its grounds are muted greys: on white or black paper it miscounts and calls things white.
A picture larger than 768 x 768 is shrunk.
Words that it never met may be taken for others: it says what fits best, and can be wrong with confidence.
It has no knowledge and no judgement, and nothing may be concluded from it about larger models.
"""

AFTER = """
## Score

{pictures} freshly drawn pictures (seeds from {first_seed}; training draws its seeds elsewhere), four questions each,
through {engine} on these weights, greedy. An answer is right if it says the right thing and no wrong one.

{table}

English {en:.1%}, Chinese {zh:.1%}; in the phrasings that it was never trained on, English {en_new:.1%},
Chinese {zh_new:.1%}.
"""


@dataclass(frozen=True)
class Score:
    engine: str
    pictures: int
    first_seed: int
    counts: exam.Tally


def write(path: Path, score: Score) -> None:
    counts = score.counts
    after = AFTER.format(
        pictures=score.pictures,
        first_seed=score.first_seed,
        engine=score.engine,
        table=exam.table(counts),
        en=exam.share(counts, "en"),
        zh=exam.share(counts, "zh"),
        en_new=exam.share(counts, "en", False),
        zh_new=exam.share(counts, "zh", False),
    )
    path.write_text(_before(path.parent) + after, encoding="utf-8")


def _before(folder: Path) -> str:
    shape = Shape()
    return BEFORE.format(
        layers=shape.text.layers,
        hidden=shape.text.hidden,
        depth=shape.vision.depth,
        vision=shape.vision.hidden,
        size_mb=(folder / "model.safetensors").stat().st_size / 1e6,
        shapes=", ".join(SHAPES),
        colours=", ".join(COLOURS),
        questions="\n".join(_examples()),
    )


def _examples() -> list[str]:
    slots = {
        "shape": "star",
        "place": "top left",
        "things": "red shapes",
        "first": "star",
        "second": "circle",
        "noun": "dog",
    }
    zh = {"shape": "星形", "place": "左上角", "things": "红色图形", "first": "星形", "second": "圆形", "noun": "狗"}
    english, chinese = PHRASINGS["en"], PHRASINGS["zh"]
    return [
        f"- {kind}: {english[kind][0].format(**slots)} {chinese[kind][0].format(**zh)}"
        for kind in english
        if kind != "outside"
    ]

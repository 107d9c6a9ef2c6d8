"""Train the demo model from nothing, quantize it, and write the folder that ships.

    python tools/demo_model/train.py [--out build/demo_model] [--steps 5400] [--minutes M]

Needs torch, safetensors, tokenizers, numpy, Pillow and fitserve itself (or PYTHONPATH=src). 5400 steps take six
minutes on one H200; without a GPU the same command runs too, at about 100 s a step on one x86 core: six days (it
prints how long is left). Ends with a score of its own; the score that counts is score.py's, through the real engine.
"""

import argparse
import os
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import exam
import export
import tokens
import torch
from answers import answers
from cells import CellHeads
from lessons import Figures, precision, tower_lesson, whole_lesson
from network import Network
from safetensors.torch import load_file, save_file
from shape import Shape
from steps import runner
from stream import Batch, Stream, loader
from tokenizers import Tokenizer
from torch import Tensor, nn

TOWER_SHARE = 0.12  # of the training: the tower alone
ROUNDED_FROM = 0.65  # from here on weights are trained as their four bits
FALLING_FROM = 0.45  # the learning rate is constant before, and falls to nothing after
WARM_UP_STEPS = 100


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=float("inf"), help="hurry the schedule to end by then")
    parser.add_argument("--steps", type=int, default=5400)
    parser.add_argument("--patches", type=int, default=65536, help="patches of 16 x 16 pixels a step")
    parser.add_argument("--workers", type=int, default=max(1, (os.cpu_count() or 2) - 1))
    parser.add_argument("--rate", type=float, default=1.5e-3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--bare", type=float, default=0.0, help="share of pictures on plain white or black (try 0.2)")
    parser.add_argument("--exam", type=int, default=210, help="pictures of the score at the end")
    parser.add_argument("--no-recording", action="store_true", help="start every kernel of every step by itself")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--resume", type=Path, help="folder with masters*.safetensors to go on from")
    parser.add_argument("--begin-at", type=float, default=0.0, help="share of the schedule that was done before")
    parser.add_argument("--out", type=Path, default=Path("build/demo_model"))
    return parser.parse_args()


@dataclass
class Clock:
    """How far the training is, by steps or by minutes, whichever is further."""

    steps: int
    minutes: float
    begin_at: float
    started: float = field(default_factory=time.monotonic)
    step: int = 0

    @property
    def seconds(self) -> float:
        return time.monotonic() - self.started

    @property
    def progress(self) -> float:
        share = max(self.step / self.steps, self.seconds / (60 * self.minutes))
        return self.begin_at + (1 - self.begin_at) * share

    @property
    def left_minutes(self) -> float:
        done = (self.progress - self.begin_at) / (1 - self.begin_at)
        return self.seconds / 60 * (1 / max(done, 1e-9) - 1)


class Training:
    def __init__(self, chosen: argparse.Namespace) -> None:
        torch.manual_seed(chosen.seed)
        torch.set_float32_matmul_precision("high")
        self.chosen = chosen
        self.device = torch.device(chosen.device)
        self.tokenizer: Tokenizer = tokens.build()
        self.network = Network(Shape(), self.tokenizer.get_vocab_size()).to(self.device)
        self.heads = CellHeads(self.network.shape.text.hidden).to(self.device)
        if chosen.resume:
            load_masters(chosen.resume, self.network, self.heads)
        self.weights = [*self.network.parameters(), *self.heads.parameters()]
        self.optimizer = self._optimizer()
        self.gradients = runner(self.weights, self.device, not chosen.no_recording)
        self.clock = Clock(chosen.steps, chosen.minutes, chosen.begin_at)
        self.whole_since: int | None = None
        self.image_token = self.tokenizer.token_to_id("<|image_pad|>")

    def _optimizer(self) -> torch.optim.Optimizer:
        seeing = [*self.network.model.visual.parameters(), *self.heads.parameters()]
        mine = {id(weight) for weight in seeing}
        speaking = [weight for weight in self.network.parameters() if id(weight) not in mine]
        groups = [_decayed(seeing, 0.02), _decayed(speaking, 0.02), _plain(seeing), _plain(speaking)]
        return torch.optim.AdamW(groups, lr=0.0, betas=(0.9, 0.98), fused=self.device.type == "cuda")

    def run(self) -> None:
        batches: Iterator[Batch] = iter(loader(self._stream(), self.chosen.workers))
        diary = Diary(self.clock)
        while self.clock.progress < 1.0:
            waited = time.monotonic()
            batch = next(batches)
            diary.waited += time.monotonic() - waited
            diary.note(self._step(batch), batch)
            self.clock.step += 1

    def _stream(self) -> Stream:
        chosen = self.chosen
        return Stream(self.tokenizer, chosen.seed, chosen.patches, chosen.bare)

    def _step(self, batch: Batch) -> Figures:
        progress = self.clock.progress
        self.network.round_weights(float(progress >= ROUNDED_FROM))
        self._set_rates(progress)
        figures = self.gradients(self._tower if progress < TOWER_SHARE else self._whole, batch)
        nn.utils.clip_grad_norm_(self.weights, 1.0)
        self.optimizer.step()
        return figures

    def _tower(self, batch: Batch) -> tuple[Tensor, Figures]:
        return tower_lesson(self.network, self.heads, batch)

    def _whole(self, batch: Batch) -> tuple[Tensor, Figures]:
        return whole_lesson(self.network, self.heads, batch, self.image_token)

    def _set_rates(self, progress: float) -> None:
        if progress >= TOWER_SHARE and self.whole_since is None:
            self.whole_since = self.clock.step
        fall = min(1.0, max(0.0, (1 - progress) / (1 - FALLING_FROM)))
        since = (0, self.whole_since or 0)
        for index, group in enumerate(self.optimizer.param_groups):
            warm = min(1.0, (self.clock.step - since[index % 2] + 1) / WARM_UP_STEPS)
            group["lr"] = self.chosen.rate * warm * fall if index % 2 == 0 or self.whole_since is not None else 0.0

    def examine(self) -> str:
        """A score of the rounded weights, without an engine."""
        samples = exam.papers(self.chosen.exam)
        self.network.round_weights()
        with precision(self.device):
            said = answers(self.network.eval(), self.tokenizer, samples)
        (self.chosen.out / "wrong.txt").write_text(exam.mistakes(samples, said), encoding="utf-8")
        return exam.table(exam.tally(samples, said))


def _decayed(weights: list[nn.Parameter], decay: float) -> dict[str, object]:
    return {"params": [weight for weight in weights if weight.ndim > 1], "weight_decay": decay}


def _plain(weights: list[nn.Parameter]) -> dict[str, object]:
    return {"params": [weight for weight in weights if weight.ndim <= 1], "weight_decay": 0.0}


@dataclass
class Diary:
    """Prints the mean of the figures every so many steps."""

    clock: Clock
    every: int = 50
    waited: float = 0.0
    pictures: int = 0
    since: float = field(default_factory=time.monotonic)
    sums: dict[str, Tensor] = field(default_factory=dict)

    def note(self, figures: Figures, batch: Batch) -> None:
        self.pictures += len(batch.pixels)
        for name, value in figures.items():
            self.sums[name] = self.sums.get(name, 0.0) + value
        if (self.clock.step + 1) % self.every == 0:
            self._print()

    def _print(self) -> None:
        figures = " ".join(f"{name} {float(value) / self.every:.3f}" for name, value in self.sums.items())
        took = time.monotonic() - self.since
        pace = f"{self.pictures / took:.0f} pictures/s, waited {self.waited / took:.0%}"
        where = f"{self.clock.step + 1} {self.clock.seconds:.0f}s {self.clock.progress:.3f}"
        print(f"{where}, {self.clock.left_minutes:.0f} min left, {pace} | {figures}", flush=True)
        self.waited, self.pictures, self.since, self.sums = 0.0, 0, time.monotonic(), {}


def save_masters(folder: Path, network: Network, heads: CellHeads) -> None:
    """The float32 weights, in parts of less than 12 MB each, to go on from."""
    state = {**network.state_dict(), **{f"heads.{name}": weight for name, weight in heads.state_dict().items()}}
    names, parts, size = sorted(state), [[]], 0
    for name in names:
        size += state[name].nbytes
        if size > 12_000_000:
            parts, size = [*parts, []], state[name].nbytes
        parts[-1].append(name)
    for index, part in enumerate(parts):
        save_file({name: state[name].cpu().contiguous() for name in part}, folder / f"masters{index}.safetensors")


def load_masters(folder: Path, network: Network, heads: CellHeads) -> None:
    state = {}
    for path in sorted(folder.glob("masters*.safetensors")):
        state |= load_file(path)
    heads.load_state_dict({name[6:]: state.pop(name) for name in sorted(state) if name.startswith("heads.")})
    network.load_state_dict(state)


def main() -> None:
    chosen = arguments()
    chosen.out.mkdir(parents=True, exist_ok=True)
    training = Training(chosen)
    training.run()
    print(f"trained: {training.clock.step} steps in {training.clock.seconds:.0f} s", flush=True)
    save_masters(chosen.out, training.network, training.heads)
    export.write(training.network, training.tokenizer, chosen.out / "model")
    score = training.examine()
    (chosen.out / "score.md").write_text(score + "\n", encoding="utf-8")
    print(score)


if __name__ == "__main__":
    main()

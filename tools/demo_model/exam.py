"""The questions that the score is made of: fresh pictures, each asked in both languages and two phrasings."""

from collections import defaultdict
from collections.abc import Iterable
from random import Random

from grounds import on_bare_ground

from fitserve.demo.draw import encode, picture
from fitserve.demo.phrasings import HELD_OUT, KINDS
from fitserve.demo.questions import ask
from fitserve.demo.sample import Sample, sample
from fitserve.demo.words import LANGUAGES
from fitserve.demo.world import draw_scene

FIRST_SEED = 1_000_000_000  # training draws its seeds elsewhere
Tally = dict[tuple[str, str, bool], tuple[int, int]]


def papers(pictures: int, first_seed: int = FIRST_SEED) -> list[Sample]:
    """Four questions a picture: English and Chinese, in a trained and in the untrained phrasing; kinds take turns."""
    return [
        sample(first_seed + index, language, KINDS[index % len(KINDS)], phrasing)
        for index in range(pictures)
        for language in LANGUAGES
        for phrasing in (index % HELD_OUT, HELD_OUT)
    ]


def on_bare_ground_too(paper: Sample) -> Sample:
    """A paper of the same kind whose picture is on white or black: the world's own grounds are grey."""
    rng, asked = Random(f"bare ground {paper.seed}"), None
    while asked is None:
        scene = on_bare_ground(draw_scene(rng), rng)
        asked = ask(scene, paper.question.kind, paper.question.language, paper.question.phrasing, rng)
    return Sample(paper.seed, scene, asked, "PNG", encode(picture(scene), "PNG"))


def tally(samples: Iterable[Sample], answers: Iterable[str]) -> Tally:
    """Right and asked, by kind, language and whether the phrasing was trained on."""
    counts: dict[tuple[str, str, bool], list[int]] = defaultdict(lambda: [0, 0])
    for paper, answer in zip(samples, answers, strict=True):
        question = paper.question
        count = counts[question.kind, question.language, question.seen]
        count[0] += paper.is_right(answer)
        count[1] += 1
    return {key: (right, asked) for key, (right, asked) in counts.items()}


def table(counts: Tally) -> str:
    """A Markdown table: a row a kind, a column a language and phrasing."""
    columns = [(language, seen) for language in LANGUAGES for seen in (True, False)]
    heads = [f"{language}, {'trained' if seen else 'untrained'} phrasing" for language, seen in columns]
    lines = ["| kind | " + " | ".join(heads) + " |", "|---|" + "---|" * len(columns)]
    for kind in KINDS:
        cells = [_share([counts.get((kind, *column), (0, 0))]) for column in columns]
        lines.append(f"| {kind} | " + " | ".join(cells) + " |")
    sums = [_share([counts.get((kind, *column), (0, 0)) for kind in KINDS]) for column in columns]
    return "\n".join([*lines, "| **all** | " + " | ".join(sums) + " |"])


def _share(pairs: list[tuple[int, int]]) -> str:
    right, asked = (sum(column) for column in zip(*pairs, strict=True))
    return f"{right / asked:.1%} ({right}/{asked})" if asked else "–"


def mistakes(samples: Iterable[Sample], answers: Iterable[str]) -> str:
    """A line for each wrong answer: seed, question, right answer, what was said."""
    pairs = zip(samples, answers, strict=True)
    wrong = [(paper.seed, paper.question, answer) for paper, answer in pairs if not paper.is_right(answer)]
    return "".join(f"{seed} {question.text} | {question.answer} | {answer}\n" for seed, question, answer in wrong)


def share(counts: Tally, language: str | None = None, seen: bool | None = None) -> float:
    """The share of right answers, of one language or phrasing where given."""
    chosen = [pair for key, pair in counts.items() if language in (None, key[1]) and seen in (None, key[2])]
    return sum(right for right, _ in chosen) / max(1, sum(asked for _, asked in chosen))

"""The work of a bench: how many conversations, with which pictures, texts, turns and answers; drawn by seed.

The same workload makes the same requests, byte for byte, on any machine with the same Pillow.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import cycle, islice
from random import Random
from typing import TYPE_CHECKING

from fitserve.measure.pictures import Drawn, Size, pictures

if TYPE_CHECKING:
    from fitserve.demo.questions import Question
    from fitserve.demo.words import Language

_WORD_LIST = (
    "river window morning paper garden engine silver market shadow bridge letter winter music table harbour candle "
    "forest pocket summer mirror ticket copper valley button island basket thunder pencil orchard ladder"
)


@dataclass(frozen=True)
class Workload:
    """What is asked. `output_tokens` asks for exactly so many (vLLM's `ignore_eos`); None lets the model end."""

    conversations: int = 32
    turns: int = 1
    pictures: int = 1  # in the first turn of a conversation
    sizes: tuple[Size, ...] = ((448, 448),)  # in turn
    words: int = 0  # drawn words before each question
    output_tokens: int | None = 64
    max_tokens: int = 256  # where the model ends by itself
    same_pictures: bool = False  # every conversation with the first one's: what an image cache makes of it
    language: Language = "en"
    seed: int = 0

    def table(self) -> dict[str, object]:
        """As JSON; `Workload(**table)` after `from_table` makes the same requests."""
        return asdict(self)

    @classmethod
    def from_table(cls, table: dict[str, object]) -> Workload:
        """From what `table` gave, lists as JSON has them. Raises TypeError for unknown keys."""
        sizes = table.get("sizes")
        pairs = tuple((int(pair[0]), int(pair[1])) for pair in sizes) if isinstance(sizes, (list, tuple)) else ()
        return replace(cls(**{key: value for key, value in table.items() if key != "sizes"}), sizes=pairs)  # type: ignore[arg-type]  # JSON's own types


@dataclass(frozen=True)
class Ask:
    """One turn of a user: the message as JSON, ready to be sent, and the question that its answer is judged by."""

    text: str
    message: bytes
    sizes: tuple[Size, ...] = ()
    question: Question | None = None

    def is_right(self, answer: str) -> bool | None:
        """None where nobody can judge it."""
        from fitserve.demo.judge import is_right

        return None if self.question is None else is_right(self.question, answer)


@dataclass(frozen=True)
class Script:
    """One conversation that is to be held."""

    index: int
    asks: tuple[Ask, ...]


def scripts(work: Workload, part: str = "measured") -> Iterator[Script]:
    """The conversations of one part of a bench. Another part (`warmup`) gets other pictures and other words."""
    seed = f"fitserve bench {work.seed} {part}"
    words = Random(f"{seed} words")
    drawn = _pictures(work, seed)
    for index in range(work.conversations):
        shown = tuple(islice(drawn, work.pictures))
        asks = (_ask(work, shown if turn == 0 else (), turn, words, shown) for turn in range(work.turns))
        yield Script(index, tuple(asks))


def judged(work: Sequence[Script], answers: Iterable[tuple[int, int, str]]) -> list[bool]:
    """Which of the answers (conversation, turn, text) that can be judged are right. Slow: not while a load runs."""
    asked = {(script.index, turn): ask for script in work for turn, ask in enumerate(script.asks)}
    verdicts = (asked[conversation, turn].is_right(text) for conversation, turn, text in answers)
    return [verdict for verdict in verdicts if verdict is not None]


def _pictures(work: Workload, seed: str) -> Iterator[Drawn]:
    if work.pictures == 0:
        return iter(())
    drawn = pictures(f"{seed} pictures", work.sizes, work.language)
    return cycle(tuple(islice(drawn, work.pictures))) if work.same_pictures else drawn


def _ask(work: Workload, sent: tuple[Drawn, ...], turn: int, words: Random, shown: tuple[Drawn, ...]) -> Ask:
    """A question that can be judged where one picture was shown; otherwise one for any model."""
    import msgspec

    question = shown[0].question if len(shown) == 1 and turn == 0 else None
    put = question.text if question else _general(work.language, len(shown), turn)
    text = " ".join([*words.choices(_WORD_LIST.split(), k=work.words), put])
    parts: list[dict[str, object]] = [{"type": "image_url", "image_url": {"url": one.data_url}} for one in sent]
    content: object = [*parts, {"type": "text", "text": text}] if parts else text
    message = msgspec.json.encode({"role": "user", "content": content})
    return Ask(text, message, tuple(one.size for one in sent), question)


def _general(language: Language, shown: int, turn: int) -> str:
    """Questions to the model, not sentences for the reader: they are part of the work, so they stay as they are."""
    if language == "zh":
        return (
            "还能看到什么？请继续描述。" if turn else ("请描述图片的内容。" if shown else "请写一段关于这些词的短文。")
        )
    if turn:
        return "What else can you see? Go on."
    return "Describe what you see." if shown else "Write a short text about these words."

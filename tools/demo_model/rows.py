"""A conversation as tokens, with the positions that Qwen's multimodal rotary embedding gives them."""

from dataclasses import dataclass, field

from tokenizers import Tokenizer

from fitserve.demo.phrasings import KINDS, Kind


@dataclass
class Row:
    """Grows turn by turn.

    `positions` are (time, row, column); `kinds` the index of a kind where a token is part of an answer, else -1;
    `pictures` counts the picture tokens so far.
    """

    tokens: list[int] = field(default_factory=list)
    positions: list[tuple[int, int, int]] = field(default_factory=list)
    kinds: list[int] = field(default_factory=list)
    now: int = 0

    def say(self, token: int, kind: int = -1) -> None:
        self.tokens.append(token)
        self.positions.append((self.now, self.now, self.now))
        self.kinds.append(kind)
        self.now += 1

    def show(self, image_token: int, columns: int, rows: int) -> None:
        now = self.now
        self.tokens += [image_token] * (columns * rows)
        self.positions += [(now, now + y, now + x) for y in range(rows) for x in range(columns)]
        self.kinds += [-1] * (columns * rows)
        self.now += max(columns, rows)


class Writer:
    """Appends turns to rows, all with pictures of `columns` x `rows` cells."""

    def __init__(self, tokenizer: Tokenizer, columns: int, rows: int) -> None:
        self.tokenizer = tokenizer
        self.grid = (columns, rows)
        self.image = tokenizer.token_to_id("<|image_pad|>")
        self.end = tokenizer.token_to_id("<|im_end|>")
        names = ("<|im_start|>", "assistant", "Ċ")
        self.answer_begins = [tokenizer.token_to_id(name) for name in names]

    def append(self, row: Row, text: str, kind: Kind, limit: int = 1 << 30) -> bool:
        """Append a turn, or say False and leave the row as it is where it would grow over the limit."""
        encoded = self.tokenizer.encode(text).ids
        size = len(encoded) + encoded.count(self.image) * (self.grid[0] * self.grid[1] - 1)
        if len(row.tokens) + size > limit:
            return False
        answering = False
        for index, token in enumerate(encoded):
            if token == self.image:
                row.show(token, *self.grid)
                continue
            row.say(token, KINDS.index(kind) if answering else -1)
            if encoded[max(0, index - 2) : index + 1] == self.answer_begins:
                answering = True
            answering = answering and token != self.end
        return True

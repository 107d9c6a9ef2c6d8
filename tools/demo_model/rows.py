"""A conversation as tokens, with the positions that Qwen's multimodal rotary embedding gives them."""

from dataclasses import dataclass

from tokenizers import Tokenizer

from conversations import Conversation
from fitserve.demo.phrasings import KINDS


@dataclass(frozen=True)
class Row:
    """`positions` are (time, row, column); `kinds` the index of a kind where a token is part of an answer, else -1."""

    tokens: list[int]
    positions: list[tuple[int, int, int]]
    kinds: list[int]


def row(tokenizer: Tokenizer, talk: Conversation, columns: int, rows: int) -> Row:
    """All pictures of the conversation have `columns` x `rows` cells."""
    encoded = tokenizer.encode(talk.text).ids
    image, start, end, assistant, newline = (
        tokenizer.token_to_id(text) for text in ("<|image_pad|>", "<|im_start|>", "<|im_end|>", "assistant", "Ċ")
    )
    tokens: list[int] = []
    positions: list[tuple[int, int, int]] = []
    kinds: list[int] = []
    turn, now, answering = -1, 0, False
    for index, token in enumerate(encoded):
        if token == image:
            tokens += [image] * (columns * rows)
            positions += [(now, now + y, now + x) for y in range(rows) for x in range(columns)]
            kinds += [-1] * (columns * rows)
            now += max(columns, rows)
            continue
        tokens.append(token)
        positions.append((now, now, now))
        now += 1
        if encoded[max(0, index - 2) : index + 1] == [start, assistant, newline]:
            turn, answering = turn + 1, True
            kinds.append(-1)
            continue
        kinds.append(KINDS.index(talk.kinds[turn]) if answering else -1)
        answering = answering and token != end
    return Row(tokens, positions, kinds)

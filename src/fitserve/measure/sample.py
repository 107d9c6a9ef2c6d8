"""One request of a load, as it was measured. Seconds count from the load's beginning; unknown is None."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields


@dataclass(frozen=True)
class Sample:
    """`due_s` is when it should have been sent: in an open loop a late generator must not flatter the server."""

    conversation: int
    turn: int
    due_s: float
    sent_s: float
    connect_s: float
    ended_s: float
    times_s: tuple[float, ...] = ()  # one a piece: the first with text, and all after it
    pictures: int = 0
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    image_tokens: int | None = None  # of the prompt's
    cached_tokens: int | None = None
    finish_reason: str = ""
    answer: str = ""
    error: str = ""  # a kind: endpoint_busy, endpoint_broken_off, slow_total …
    evidence: str = ""  # the endpoint's own line

    @property
    def ok(self) -> bool:
        """Whether an answer came and ended."""
        return not self.error

    @property
    def first_token_s(self) -> float | None:
        """From sending to the first piece of text."""
        return self.times_s[0] - self.sent_s if self.times_s else None

    @property
    def end_to_end_s(self) -> float | None:
        """From sending to the end of the response."""
        return self.ended_s - self.sent_s if self.ok else None

    @property
    def time_per_token_s(self) -> float | None:
        """The time after the first token over the tokens after it. None where the endpoint did not count them."""
        if not self.ok or not self.times_s or self.completion_tokens is None or self.completion_tokens < 2:
            return None
        return (self.times_s[-1] - self.times_s[0]) / (self.completion_tokens - 1)

    @property
    def gaps_s(self) -> list[float]:
        """Between one piece and the next, as a reader sees them; a piece may be several tokens."""
        return [after - before for before, after in zip(self.times_s, self.times_s[1:], strict=False)]

    @property
    def text_tokens(self) -> int | None:
        """Prompt tokens that are not a picture's."""
        if self.prompt_tokens is None or self.image_tokens is None:
            return None
        return self.prompt_tokens - self.image_tokens

    def table(self) -> dict[str, object]:
        """As JSON; times to the microsecond."""
        table = asdict(self)
        table["times_s"] = [round(time_s, 6) for time_s in self.times_s]
        for key in ("due_s", "sent_s", "connect_s", "ended_s"):
            table[key] = round(table[key], 6)
        return table

    @classmethod
    def from_table(cls, table: dict[str, object]) -> Sample:
        """From what `table` gave; keys of a later version are left out. Raises TypeError."""
        known = {field.name for field in fields(cls)}
        values = {key: value for key, value in table.items() if key in known}
        times = values.pop("times_s", ())
        return cls(times_s=tuple(times), **values)  # type: ignore[arg-type]  # JSON's own types

"""What differs between somebody's command and the corrected one, flag by flag, and why."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import replace

from fitserve.plan.checks.flags_known import meant
from fitserve.plan.flags import CLOSED_FLAGS
from fitserve.plan.given import Given
from fitserve.plan.gpu import Scale
from fitserve.plan.parse import ParsedCommand, parse
from fitserve.plan.plan import Change, Plan
from fitserve.text import tr

MASK, _ORDER, _SPACE = "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "VLLM_CPU_KVCACHE_SPACE"
Words = dict[str, tuple[str, ...]]  # by the flag without its `--no-`
_SAME = {"--model", "--served-model-name", "--port"}
_CLOSED = {"--host", *(words[0].replace("--no-", "--") for words in CLOSED_FLAGS)}  # ours alone, unless typed
_ALREADY_CLOSED = {"--enable-mm-embeds", "--trust-remote-code"}
EVERYWHERE = "0.0.0.0"  # noqa: S104 - vLLM's default host
_SAID = {
    "--max-num-seqs": "plan.change_seqs",
    "--gpu-memory-utilization": "plan.change_utilization",
    "--limit-mm-per-prompt": "plan.change_pictures",
    "--allowed-origins": "plan.change_origins",
    "--disable-access-log-for-endpoints": "plan.change_log",
    "--enable-prefix-caching": "plan.change_caching",
}


def changes(
    parsed: ParsedCommand, given: Given, reviewed: Plan, plan: Plan, blamed: dict[str, str], env: dict[str, str]
) -> Iterator[Change]:
    """First what was typed and is not kept, then what is added. `blamed` says what is wrong with a flag."""
    typed = _by_flag(parsed.pieces)
    after = _by_flag(parse(plan.command).pieces)
    why = _Why(given, reviewed, plan, {_plain(flag): said for flag, said in blamed.items()})
    if parsed.stray:
        yield Change(" ".join(parsed.stray), "", tr("plan.stray_said", words=" ".join(parsed.stray)))
    if (mask := parsed.env.get(MASK)) is not None and MASK not in env:
        yield Change(f"{MASK}={mask}", "", tr("plan.mistake_blind", mask=mask))
    renamed = {flag: meant(flag) for flag in parsed.unknown}
    yield from _not_kept(typed, after, renamed, why)
    for flag, words in after.items():
        if flag not in typed and flag not in (*_SAME, *renamed.values()) and _is_new(flag, words, why.before):
            yield Change("", shlex.join(words), why.of(flag))
    yield from _environment({name: value for name, value in env.items() if parsed.env.get(name) != value})


def _not_kept(typed: Words, after: Words, renamed: dict[str, str], why: _Why) -> Iterator[Change]:
    for flag, words in typed.items():
        if flag in _SAME or (flag not in why.blamed and why.before.get(flag) == after.get(flag)):
            continue
        now = after.get(renamed.get(flag, flag), ())
        if flag not in after or _value(words) != _value(now):
            yield Change(shlex.join(words), shlex.join(now), why.of(flag))


def _environment(added: dict[str, str]) -> Iterator[Change]:
    kinds = (("cards", {MASK, _ORDER}), ("space", {_SPACE}), ("closed", added.keys() - {MASK, _ORDER, _SPACE}))
    for kind, names in kinds:
        if said := [f"{name}={value}" for name, value in added.items() if name in names]:
            yield Change("", " ".join(said), tr(f"plan.change_env_{kind}"))


def _by_flag(pieces: tuple[tuple[str, tuple[str, ...]], ...]) -> Words:
    return {_plain(name): words for name, words in pieces if name}


def _plain(flag: str) -> str:
    return flag.replace("--no-", "--", 1)


def _value(words: tuple[str, ...]) -> str:
    """What a flag is set to, `-tp 2` and `--tensor-parallel-size=2` alike; a switch is its own value."""
    return words[-1].partition("=")[2] or words[-1] if words else ""


def _is_new(flag: str, words: tuple[str, ...], before: Words) -> bool:
    """Whether an added flag changes anything: what equals vLLM's own default is only written out."""
    if flag in _CLOSED:
        return flag not in _ALREADY_CLOSED and words[-1] != EVERYWHERE
    return before.get(flag) != words


class _Why:
    """The reason for a flag: what a check says, what would happen with the old value, else a sentence of its own."""

    def __init__(self, given: Given, reviewed: Plan, plan: Plan, blamed: dict[str, str]) -> None:
        self.given, self.old, self.new = given, reviewed.settings, plan.settings
        self.before, self.blamed = _by_flag(parse(reviewed.command).pieces), blamed

    def of(self, flag: str) -> str:
        """In the reader's language."""
        if flag in self.blamed:
            return self.blamed[flag]
        if obstacle := self._obstacle(flag):
            return tr("plan.change_else", why=obstacle)
        if flag == "--enforce-eager":
            return tr("plan.cpu_eager_auto" if self.new.enforce_eager else "plan.change_graphs")
        was = " ".join(self.before.get(flag, ())[1:])
        return tr(_SAID.get(flag, "plan.change_own" if was else "plan.change_added"), was=was)

    def _obstacle(self, flag: str) -> str:
        """What stands against the old value among the new ones."""
        name = flag.removeprefix("--").replace("-", "_")
        if self.given.gpus is None or not hasattr(self.old, name):
            return ""
        undone = replace(self.new, **{name: getattr(self.old, name)})
        return Scale(self.given).weigh(undone).judgement.obstacle

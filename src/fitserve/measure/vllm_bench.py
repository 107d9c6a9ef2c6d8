"""`vllm bench serve` with the work of a bench of ours: as many requests, pictures of the same sizes, texts and answers
of the same lengths. It runs in the engine's own interpreter, and its figures come back under our names.

Its pictures are drawn by another seed than ours: the server has just seen ours, and would answer from its caches.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from fitserve.engines import inside
from fitserve.errors import OperationFailed, SettingsError, TimedOut
from fitserve.measure.bench import Spec
from fitserve.measure.workload import scripts
from fitserve.run.deployment import Deployment
from fitserve.text import tr

PART = "vllm bench"
SCRIPT = Path(inside.__file__).parent / "bench_serve.py"
_PICTURES = ("custom_image", "custom_mm")  # the second was its name before
_TEXTS = ("custom_image", "custom")  # the second needs pandas, which no engine has to have
_IMPORT_S = 300.0
_TAIL_BYTES = 64 * 1024
_FIGURES = {
    "first_token_s": "ttft",
    "time_per_token_s": "tpot",
    "gap_s": "itl",
    "end_to_end_s": "e2el",
}


@dataclass(frozen=True)
class Told:
    """One latency of theirs, seconds."""

    median: float
    mean: float
    p99: float


@dataclass(frozen=True)
class Theirs:
    """What it found. Its rates are over the whole run, beginning and end included; unknown is None."""

    answered: int
    requests: int
    seconds: float
    first_token_s: Told | None
    time_per_token_s: Told | None
    gap_s: Told | None
    end_to_end_s: Told | None
    requests_per_s: float | None
    output_tokens_per_s: float | None
    prompt_tokens: int | None
    output_tokens: int | None
    argv: tuple[str, ...]


def refuse(spec: Spec) -> None:
    """It knows no conversations. Raises SettingsError."""
    if spec.work.turns > 1:
        raise SettingsError(tr("measure.theirs_one_turn"), hint="fitserve bench NAME --engine vllm-bench --turns 1")


async def vllm_bench(deployment: Deployment, spec: Spec, stop: asyncio.Event) -> Theirs | None:
    """Run it to its end; None where `stop` came first. Raises OperationFailed, TimedOut."""
    with tempfile.TemporaryDirectory(prefix="fitserve-bench-") as place:
        folder = Path(place)
        write_work(spec, folder / "work.jsonl")
        for dataset in _PICTURES if spec.work.pictures else _TEXTS:
            argv = command(deployment, spec, folder, dataset)
            code, said = await _run(argv, deployment, _IMPORT_S + spec.limit_s * spec.work.conversations, stop)
            if stop.is_set():
                return None
            if code and f"invalid choice: '{dataset}'" in said:
                continue
            return _read(folder / "result.json", argv, spec.work.conversations, code, said)
    raise OperationFailed(tr("measure.theirs_failed"), code="vllm_bench", evidence=said.strip()[-300:])


def write_work(spec: Spec, path: Path) -> None:
    """The requests as its data sets have them, pictures inline, so that the server fetches nothing."""
    with path.open("w", encoding="utf-8") as file:
        for row in _rows(spec):
            file.write(json.dumps(row) + "\n")


def _rows(spec: Spec) -> Iterator[dict[str, object]]:
    for script in scripts(spec.work, PART):
        content = json.loads(script.asks[0].message)["content"]
        if isinstance(content, str):
            parts = [{"type": "text", "text": content}]
            yield {
                "prompt": content,
                "content": parts,
                "output_tokens": spec.work.output_tokens or spec.work.max_tokens,
            }
            continue
        urls = [part["image_url"]["url"] for part in content if part["type"] == "image_url"]
        yield {"prompt": content[-1]["text"], "image_files": urls}


def command(deployment: Deployment, spec: Spec, folder: Path, dataset: str) -> tuple[str, ...]:
    """Its command line. The answers' lengths, the pace and the seed are those of the bench."""
    work, pace = spec.work, spec.pace
    speed = ("--max-concurrency", str(pace.users)) if pace.users else ("--request-rate", f"{pace.rate:g}")
    words: tuple[str, ...] = (
        deployment.argv[0], str(SCRIPT),
        "--backend", "openai-chat", "--endpoint", "/v1/chat/completions", "--base-url", deployment.url,
        "--model", deployment.served_model_name, "--tokenizer", deployment.model,
        "--dataset-name", dataset, "--dataset-path", str(folder / "work.jsonl"), "--disable-shuffle",
        "--num-prompts", str(work.conversations), "--custom-output-len", str(work.output_tokens or work.max_tokens),
        *speed, "--seed", str(work.seed % 2**31), "--temperature", "0", "--num-warmups", str(spec.warmup),
        "--percentile-metrics", ",".join(_FIGURES.values()), "--metric-percentiles", "50,99",
        "--save-result", "--result-dir", str(folder), "--result-filename", "result.json", "--disable-tqdm",
    )  # fmt: skip
    words += ("--skip-chat-template",) if dataset == "custom" else ()  # the server applies it
    words += ("--ignore-eos",) if work.output_tokens is not None else ()
    return (*words, "--extra-body", json.dumps(dict(spec.extra))) if spec.extra else words


async def _run(argv: Sequence[str], deployment: Deployment, limit_s: float, stop: asyncio.Event) -> tuple[int, str]:
    """Exit code and the end of what it said. It runs in a group of its own, none of which outlives this."""
    env = deployment.env | {"OPENAI_API_KEY": deployment.env.get("VLLM_API_KEY", "none"), "TQDM_DISABLE": "1"}
    child = await asyncio.create_subprocess_exec(
        *argv,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        start_new_session=True,
    )
    reading, stopped = asyncio.create_task(_tail(child)), asyncio.create_task(stop.wait())
    try:
        done, _ = await asyncio.wait((reading, stopped), timeout=limit_s, return_when=asyncio.FIRST_COMPLETED)
        if not done:
            raise TimedOut(tr("measure.theirs_slow", seconds=f"{limit_s:g}"))
        return (await child.wait(), reading.result()) if reading in done else (1, "")
    finally:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(child.pid, signal.SIGKILL)
        stopped.cancel()
        await child.wait()
        await reading


async def _tail(child: asyncio.subprocess.Process) -> str:
    assert child.stdout is not None
    said = b""
    while chunk := await child.stdout.read(_TAIL_BYTES):
        said = (said + chunk)[-_TAIL_BYTES:]
    return said.decode(errors="replace")


def _read(path: Path, argv: tuple[str, ...], requests: int, code: int, said: str) -> Theirs:
    """Its result file. Raises OperationFailed with its own last words where there is none."""
    try:
        return replace(figures(json.loads(path.read_text(encoding="utf-8")), requests), argv=argv)
    except (OSError, ValueError, TypeError, KeyError) as error:
        lines = [line.strip() for line in said.splitlines() if line.strip()]
        evidence = lines[-1][:300] if lines else f"exit {code}: {error}"
        raise OperationFailed(tr("measure.theirs_failed"), code="vllm_bench", evidence=evidence) from error


def figures(table: Mapping[str, object], requests: int) -> Theirs:
    """Its JSON under our names. Raises KeyError, TypeError, ValueError for another shape."""
    answered = int(str(table["completed"]))
    told = {name: _told(table, theirs) if answered else None for name, theirs in _FIGURES.items()}  # its 0 is unknown
    return Theirs(
        answered=answered,
        requests=requests,
        seconds=float(str(table["duration"])),
        **told,
        requests_per_s=_number(table.get("request_throughput")),
        output_tokens_per_s=_number(table.get("output_throughput")),
        prompt_tokens=_whole(table.get("total_input_tokens")),
        output_tokens=_whole(table.get("total_output_tokens")),
        argv=(),
    )


def _told(table: Mapping[str, object], name: str) -> Told | None:
    values = [_number(table.get(f"{kind}_{name}_ms")) for kind in ("median", "mean", "p99")]
    known = [value / 1000 for value in values if value is not None]
    return Told(*known) if len(known) == len(values) else None


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _whole(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)

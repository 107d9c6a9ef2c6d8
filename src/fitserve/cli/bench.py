"""`fitserve bench`: load on a deployment or any OpenAI endpoint, measured and held against the server's own count."""

from __future__ import annotations

import asyncio
import json
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from fitserve.cli.bench_options import specs, work_options
from fitserve.text import tr

if TYPE_CHECKING:
    from fitserve.chat.endpoint import Endpoint
    from fitserve.cli.target import Target
    from fitserve.measure.bench import Bench, Spec
    from fitserve.measure.sample import Sample
    from fitserve.measure.vllm_bench import Theirs
    from fitserve.observe.record import RunRecord
    from fitserve.run.deployment import Deployment

SCHEMA_VERSION = 1


@click.command(help="Measure a deployment, or any OpenAI endpoint, under load with pictures.")
@click.argument("target", metavar="[NAME|URL]", required=False, default="")
@click.option("--users", default="", metavar="N,…", help="in flight at once, one run each (default 1,4,16)")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="conversations a second, at random moments")
@click.option("--requests", type=click.IntRange(1), help="conversations a run (default: 6 a user, at least 16)")
@click.option("--warmup", type=click.IntRange(0), help="conversations before, not counted (default: one a user)")
@work_options
@click.option(
    "--engine",
    type=click.Choice(["fitserve", "vllm-bench"]),
    default="fitserve",
    help="vllm-bench: the same work through `vllm bench serve` too, its figures beside ours",
)
@click.option("--model", default="", help="served model name (default: the first one served)")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="where the JSON lines go")
@click.option("--json", "as_json", is_flag=True, help="one JSON document on stdout")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    target: str,
    engine: str,
    model: str,
    output: Path | None,
    as_json: bool,
    **options: Any,  # noqa: ANN401 - a load's options, read by name
) -> None:
    from fitserve.cli.target import answering_target
    from fitserve.clock import SystemClock
    from fitserve.measure.results import new_results

    found = answering_target(target, "", model)
    asked = specs(options, target or found.name)
    other = _other(engine, found, asked)
    record = new_results("bench", found.name or "url", SystemClock(), output)
    endpoint, benches, theirs, version = asyncio.run(_measured(found, asked, record, other))
    record.close()
    if as_json:
        click.echo(json.dumps(document(endpoint, found.name, version, benches, record, theirs), ensure_ascii=False))
    else:
        _tell(endpoint, benches, record, found, theirs)
    ctx.exit(exit_code(benches))


def _other(engine: str, found: Target, asked: tuple[Spec, ...]) -> Deployment | None:
    """The deployment whose interpreter has `vllm bench`. Raises SettingsError where it can't do this work."""
    from fitserve.errors import SettingsError
    from fitserve.measure.vllm_bench import refuse
    from fitserve.run.registry import load

    if engine != "vllm-bench":
        return None
    deployment = load(found.name) if found.name else None
    if deployment is None:
        raise SettingsError(tr("measure.theirs_needs_name"), hint="fitserve bench NAME --engine vllm-bench")
    for spec in asked:
        refuse(spec)
    return deployment


async def _measured(
    found: Target, asked: tuple[Spec, ...], record: RunRecord, other: Deployment | None
) -> tuple[Endpoint, list[Bench], list[Theirs | None], str | None]:
    from fitserve.cli.bench_memory import memory_of
    from fitserve.cli.bench_screen import Progress
    from fitserve.measure.bench import bench, engine_version, reachable
    from fitserve.measure.results import memory_table
    from fitserve.measure.tables import bench_table, spec_table

    endpoint = await reachable(found.endpoint)
    version = await engine_version(endpoint)
    record.write("bench", **_head(found, endpoint, version))
    stop, benches, theirs = _stop_on_interrupt(), [], []
    memory = memory_of(found.name)
    for run, spec in enumerate(asked):
        if stop.is_set():
            break
        record.write("run", run=run, settings=spec_table(spec))
        listener = _Kept(Progress(_what(spec)), record, run)
        click.echo(_preparing(spec), err=True)
        benches.append(await bench(endpoint, spec, memory, stop, listener))
        listener.progress.end()
        if benches[-1].memory:
            record.write("memory", run=run, rows=memory_table(benches[-1].memory))
        record.write("result", run=run, **bench_table(benches[-1]))
        theirs.append(await _beside(other, spec, stop, record, run) if other else None)
    return endpoint, benches, theirs, version


async def _beside(other: Deployment, spec: Spec, stop: asyncio.Event, record: RunRecord, run: int) -> Theirs | None:
    from fitserve.measure.tables import plain
    from fitserve.measure.vllm_bench import vllm_bench

    if stop.is_set():
        return None
    click.echo(tr("measure.theirs_runs", what=_what(spec)), err=True)
    found = await vllm_bench(other, spec, stop)
    if found:
        record.write("vllm_bench", run=run, figures=plain(found))
    return found


class _Kept:
    """Shows a sample and keeps it."""

    def __init__(self, progress: Any, record: RunRecord, run: int) -> None:  # noqa: ANN401 - Progress, imported late
        self.progress, self._record, self._run = progress, record, run

    def begins(self, part: str, requests: int) -> None:
        self.progress.begins(part, requests)

    def sample(self, part: str, sample: Sample, in_flight: int) -> None:
        self._record.write("sample", run=self._run, part=part, **sample.table())
        self.progress.sample(part, sample, in_flight)


def _head(found: Target, endpoint: Endpoint, version: str | None) -> dict[str, object]:
    from fitserve.facts.gpu import GpusUnknown
    from fitserve.facts.read_gpus import read_gpus
    from fitserve.facts.read_host import read_host
    from fitserve.measure.results import head, target_table
    from fitserve.run.live import read_live
    from fitserve.run.registry import load

    gpus = read_gpus()
    deployment = load(found.name) if found.name else None
    live = read_live(found.name) if deployment else None
    target = target_table(endpoint.base_url, endpoint.model, found.name, version)
    return head(target, read_host(), None if isinstance(gpus, GpusUnknown) else gpus, deployment, live)


def _stop_on_interrupt() -> asyncio.Event:
    """The first Ctrl-C stops the load and keeps what is done, the second ends the program."""
    stop, loop = asyncio.Event(), asyncio.get_running_loop()

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        click.echo("\n" + tr("measure.stopping"), err=True)
        stop.set()

    loop.add_signal_handler(signal.SIGINT, interrupted)
    return stop


def _what(spec: Spec) -> str:
    pace = spec.pace
    return tr("measure.what_users", users=pace.users) if pace.users else tr("measure.what_rate", rate=f"{pace.rate:g}")


def _preparing(spec: Spec) -> str:
    from fitserve.measure.words import says

    conversations = spec.work.conversations + spec.warmup
    requests, pictures = conversations * spec.work.turns, conversations * spec.work.pictures
    return says(_what(spec), tr("measure.preparing", requests=requests, pictures=pictures))


def _tell(
    endpoint: Endpoint, benches: list[Bench], record: RunRecord, found: Target, theirs: list[Theirs | None]
) -> None:
    from fitserve.cli.bench_memory import on_cpu
    from fitserve.cli.bench_screen import beside, memory_line, remarks, table
    from fitserve.measure.words import pace_text, says, size_text, work_text

    if not benches:
        return
    click.echo(f"{endpoint.model}  {endpoint.base_url}\n{work_text(benches[-1].spec.work)}")
    for size, tokens in benches[-1].picture_tokens.items():
        click.echo(tr("measure.picture_cost", size=size_text(size), tokens=tokens))
    click.echo("\n" + "\n".join(table(benches)) + "\n\n" + tr("measure.spread_note") + "\n")
    for bench in benches:
        for line in remarks(bench, endpoint, found.is_demo):
            click.echo(says(pace_text(bench.spec.pace), line))
    for bench, other in zip(benches, theirs, strict=False):
        if other:
            click.echo("\n" + "\n".join(beside(bench, other)) + "\n")
    click.echo(memory_line(benches[-1], on_cpu=on_cpu(found.name)))
    if record.problem:
        click.echo(tr("measure.not_kept", problem=record.problem), err=True)
    click.echo(
        tr("measure.kept", path=record.path) + f"\n  {tr('failure.next')}fitserve report {record.path}", err=True
    )


def document(
    endpoint: Endpoint,
    name: str,
    version: str | None,
    benches: list[Bench],
    record: RunRecord,
    theirs: Sequence[Theirs | None] = (),
) -> dict[str, object]:
    """`bench --json`."""
    from itertools import zip_longest

    from fitserve.measure.results import target_table
    from fitserve.measure.tables import bench_table, plain

    return {
        "schema_version": SCHEMA_VERSION,
        "kind": "bench",
        "target": target_table(endpoint.base_url, endpoint.model, name, version),
        "runs": [
            bench_table(bench) | ({"vllm_bench": plain(other)} if other else {})
            for bench, other in zip_longest(benches, theirs)
        ],
        "file": str(record.path),
        "file_problem": record.problem or None,
    }


def exit_code(benches: list[Bench]) -> int:
    """130 where it was stopped, 1 where nothing was answered, 5 where figures must not be used or requests failed."""
    if not benches or any("interrupted" in bench.notes for bench in benches):
        return 130
    if any("nothing_answered" in bench.invalid for bench in benches):
        return 1
    return 5 if any(bench.invalid or bench.figures.failures for bench in benches) else 0

"""What a start that was measured teaches: its ledger beside the predicted one, kept for the plans to come."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fitserve.errors import FitserveError

if TYPE_CHECKING:
    from fitserve.facts.gpu import Gpu
    from fitserve.plan.gpu_rows import RankLedger
    from fitserve.plan.learn import Row
    from fitserve.run.deployment import Deployment
    from fitserve.run.live import Live


@dataclass(frozen=True)
class Lesson:
    """Predicted beside measured, and where what was learned is kept."""

    rows: tuple[Row, ...]
    values: Mapping[str, float]
    file: Path


def learn_start(deployment: Deployment, live: Live, cards: tuple[Gpu, ...] | None = None) -> Lesson | None:
    """Learn from a start that answers; None on a CPU engine, or where its log stated no figures.

    Never raises for what could not be learned: an `up` that answers has done its work.
    """
    figures = live.measured.get("figures")
    if "cpu" in deployment.engine or not isinstance(figures, dict) or live.engine is None:
        return None
    try:
        seen = _cards(deployment) if cards is None else cards
        version = str(figures.get("version") or deployment.engine.rpartition(" ")[2])
        rank = ranked(deployment.argv, seen, version) if seen else None
        return kept(rank, figures, source_of(live)) if rank else None
    except (FitserveError, OSError, ValueError):
        return None


def source_of(live: Live) -> str:
    """The same for one start, however often it is learned from."""
    engine = live.engine
    return f"{live.name} {engine.boot[:8]}-{engine.start_ticks}" if engine else live.name


def kept(rank: RankLedger, figures: Mapping[str, object], source: str) -> Lesson | None:
    """Put the figures beside the rank's ledger and keep what they teach. Raises OSError."""
    from fitserve.cli.calibrate import calibration_dir
    from fitserve.plan.learn import add_start, compare, learned_file, lessons

    rows = compare(rank, figures)
    if not rows:
        return None
    values, engine = lessons(rank, figures), rank.given.engine.version or ""
    file = learned_file(calibration_dir(), rank.card.name, engine)
    add_start(file, rank.card.name, engine, source, values)
    return Lesson(tuple(rows), values, file)


def ranked(argv: str | Sequence[str], cards: tuple[Gpu, ...], version: str | None) -> RankLedger:
    """The predicted ledger of one rank of a command. Raises FitserveError."""
    from fitserve.cli.plan_machine import assumed_engine, model_of
    from fitserve.facts.read_host import read_host
    from fitserve.plan.defaults import as_given
    from fitserve.plan.given import Given
    from fitserve.plan.gpu import Scale
    from fitserve.plan.parse import parse, parse_text

    parsed = parse_text(argv) if isinstance(argv, str) else parse(tuple(argv))
    engine = assumed_engine(cards, version)
    given = Given(parsed.request, model_of(parsed.model), engine, read_host(), cards)
    return Scale(given).weigh(as_given(given)).rank


def _cards(deployment: Deployment) -> tuple[Gpu, ...]:
    """The cards that the engine sees; empty where nobody can say."""
    from fitserve.facts.gpu import GpusUnknown
    from fitserve.facts.nvml import select_visible
    from fitserve.facts.read_gpus import read_gpus

    cards = read_gpus()
    if isinstance(cards, GpusUnknown):
        return ()
    visible = deployment.env.get("CUDA_VISIBLE_DEVICES")
    return cards if visible is None else select_visible(cards, visible)


def row_lines(rows: Sequence[Row]) -> list[str]:
    """A row a line: whether it is inside, the predicted interval, what was measured, and the error."""
    from fitserve.cli.up_result import padded
    from fitserve.text import tr

    gib = 2**30
    return [
        f"{'✓' if row.inside else '✗'} {padded(tr(f'plan.row_{row.item}'), 22)} "
        f"{f'{row.low / gib:.2f}–{row.high / gib:.2f}':>14} {row.measured / gib:>8.2f} "
        f"{(row.expected - row.measured) / gib:>+8.2f} GiB"
        for row in rows
    ]


def row_tables(rows: Sequence[Row]) -> list[dict[str, object]]:
    """For JSON; `error` is predicted less measured, bytes."""
    from dataclasses import asdict

    return [asdict(row) | {"error": row.expected - row.measured, "inside": row.inside} for row in rows]

"""Where the doctor's log comes from: a file, standard input, a bundled example, or a deployment's own log."""

from __future__ import annotations

import sys
from pathlib import Path

from fitserve.diagnose.engine import Stated, watched
from fitserve.diagnose.predict import Predictor
from fitserve.errors import FitserveError, NotFound, OperationFailed
from fitserve.facts.gpu import Gpu
from fitserve.facts.model import ModelFacts
from fitserve.observe.log.read import LogReader, LogReading
from fitserve.observe.log.source import decompressed, lines_of, open_log
from fitserve.text import tr

EXAMPLES = Path(__file__).parent.parent / "diagnose" / "examples"


def read(path: Path | None) -> LogReading:
    """Read a file, or standard input where `path` is None."""
    reader = LogReader(watched())
    if path is None:
        if sys.stdin.isatty():
            print(tr("doctor.stdin_terminal"), file=sys.stderr)  # noqa: T201 - progress
        for line in lines_of(decompressed(sys.stdin.buffer)):
            reader.feed(line)
        return reader.reading
    try:
        with open_log(path) as stream:
            for line in lines_of(stream):
                reader.feed(line)
    except OSError as error:
        hint = f"ls -l {path}"
        raise OperationFailed(tr("doctor.not_readable"), code="not_readable", evidence=str(error), hint=hint) from error
    return reader.reading


def examples() -> list[str]:
    """Names of the bundled logs, the first to look at first."""
    names = sorted(path.name.removesuffix(".log") for path in EXAMPLES.glob("*.log"))
    return sorted(names, key=lambda name: name != "graph-probe")


def example(name: str) -> Path:
    """The file of a bundled log."""
    path = EXAMPLES / f"{name}.log"
    if name not in examples():
        listed = tr("doctor.examples", names=", ".join(examples()))
        raise NotFound(
            tr("doctor.no_example", name=name), evidence=listed, hint=f"fitserve doctor --example {examples()[0]}"
        )
    return path


def predictor(reading: LogReading, stated: Stated, cards: tuple[Gpu, ...]) -> Predictor | None:
    """The plan as predictor, where the model's facts are at hand without a network and the cards are known."""
    from fitserve.diagnose.planned import PlanPredictor, cards_of

    start = reading.start
    settings = {**start.settings, **stated.settings}
    names = (stated.model, settings.get("--model"), start.figures.get("model"))
    facts = next((found for name in names if isinstance(name, str) and name and (found := facts_of(name))), None)
    split = settings.get("--tensor-parallel-size", 1)
    cards = cards or cards_of(start.figures, split if isinstance(split, int) else 1)
    return PlanPredictor(facts, cards) if facts is not None and cards else None


def facts_of(name: str) -> ModelFacts | None:
    """A folder that is here, or a known model; never a download."""
    from fitserve.facts.known_models import find_known, read_known
    from fitserve.facts.read import read_model

    try:
        if (Path(name) / "config.json").is_file():
            return read_model(Path(name))
        known = find_known(name) or find_known(name.rstrip("/").rsplit("/", 1)[-1])
        return read_known(known) if known else None
    except (FitserveError, OSError):
        return None

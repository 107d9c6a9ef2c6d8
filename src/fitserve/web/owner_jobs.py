"""What the owner has asked for and takes its time: one job for each deployment, and its end is kept until the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from fitserve.chat.said import said
from fitserve.errors import FitserveError
from fitserve.web.refused import Conflict, told

Document = dict[str, object]
Tell = Callable[[Document], None]
Work = Callable[[Tell], Document]  # told on the way, then the end


@dataclass(frozen=True)
class Job:
    """`result` is the work's own document; `error` why it came to nothing. Both are None while it runs."""

    kind: str  # restart, apply, verify
    told: list[Document] = field(default_factory=list)  # so far
    result: Document | None = None
    error: Document | None = None

    @property
    def runs(self) -> bool:
        """Whether it has not ended."""
        return self.result is None and self.error is None

    def document(self) -> Document:
        """For the page."""
        return {
            "kind": self.kind,
            "runs": self.runs,
            "told": list(self.told),
            "result": self.result,
            "error": self.error,
        }


class Jobs:
    """All jobs, by deployment."""

    def __init__(self) -> None:
        self._jobs: dict[str, Job] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def of(self, name: str) -> Document | None:
        """The present job, or the last one."""
        job = self._jobs.get(name)
        return job.document() if job else None

    def begin(self, name: str, kind: str, work: Work, language: str) -> None:
        """Do the work in a thread. Raises Conflict where another job runs."""
        before = self._jobs.get(name)
        if before and before.runs:
            raise Conflict(said("owner.busy", name=name), code="busy", evidence=before.kind)
        self._jobs[name] = Job(kind)
        task = asyncio.create_task(self._run(name, work, language))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _run(self, name: str, work: Work, language: str) -> None:
        job = self._jobs[name]
        try:
            ended = replace(job, result=await asyncio.to_thread(work, job.told.append))
        except FitserveError as error:
            ended = replace(job, error=told(error, language))
        except Exception as error:  # noqa: BLE001 - a fault of ours is told in the page, and the job has an end
            evidence = f"{type(error).__name__}: {error}"
            ended = replace(
                job,
                error={
                    "code": "failed",
                    "message": said("owner.fault").text(language),
                    "evidence": evidence,
                    "next": "",
                },
            )
        self._jobs[name] = ended

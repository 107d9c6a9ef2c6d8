"""`download`: everything that serving a hub model needs, in the hub's own cache, whole and checked."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import FIRST_EXCEPTION, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass, replace
from pathlib import Path

from fitserve.errors import FitserveError, Interrupted, NotFound, TimedOut
from fitserve.facts.hub_cache import find_snapshot
from fitserve.facts.hub_http import HubWeb
from fitserve.facts.hub_ref import Hub, HubRef, is_on
from fitserve.facts.hub_site import HubFile, commit_of, file_path, list_files, open_web
from fitserve.fetch.digest import Digest
from fitserve.fetch.files import needed_files
from fitserve.fetch.lock import held
from fitserve.fetch.place import Place, place_for
from fitserve.fetch.room import check_room, disk_failure, free_bytes
from fitserve.fetch.stream import Patience, Stream, damaged
from fitserve.fetch.tally import Tally, Unwatched, Watch
from fitserve.text import tr

_AT_ONCE = 8  # files, as huggingface-hub does
_POLL_S = 0.2
_SPEAKS = ("tokenizer*", "vocab.*", "tekken.json", "*.tiktoken", "*.model")


def local_copy(ref: HubRef) -> Path | None:
    """A copy that can be served as it is: config, every shard, and a tokenizer. Asks no network."""
    folder = find_snapshot(ref)
    if folder is None or not any(any(folder.glob(pattern)) for pattern in _SPEAKS):
        return None
    return folder


def download(
    ref: HubRef,
    watch: Watch | None = None,
    *,
    web: HubWeb | None = None,
    patience: Patience | None = None,
    free: Callable[[Path], int] = free_bytes,
) -> Path:
    """The folder of a complete local copy, fetched where there is none.

    Raises what `read_hub` raises, and OperationFailed (disk_full, cache_unwritable, checksum), TimedOut (hub_slow),
    NotFound (hub_offline), Interrupted. What came before a failure stays, and the next call goes on from there.
    """
    offline = is_on("HF_HUB_OFFLINE") or is_on("TRANSFORMERS_OFFLINE")
    if (folder := find_snapshot(ref) if offline else local_copy(ref)) is not None:
        return folder
    if offline:
        raise NotFound(tr("hub.offline", ref=ref), code="hub_offline", hint=f"HF_HUB_OFFLINE=0 fitserve up {ref}")
    web = web or open_web(ref.hub)
    try:
        return _Download(web, ref, patience or Patience(), watch or Unwatched(), free).run()
    except FitserveError as error:
        error.hint = error.hint or _next_command(error.code, ref)
        raise
    finally:
        web.close()


def _next_command(code: str, ref: HubRef) -> str:
    """A token where one is asked for; the other hub where this one gives damaged files; else the same again."""
    if code == "hub_denied":
        variable = "HF_TOKEN" if ref.hub is Hub.HUGGING_FACE else "MODELSCOPE_API_TOKEN"
        return f"{variable}=… fitserve up {ref}"
    if code in ("checksum", "hub_not_found", "broken_model"):
        return f"fitserve up {'modelscope' if ref.hub is Hub.HUGGING_FACE else 'hf'}:{ref.id}"
    return f"fitserve up {ref}"


@dataclass(frozen=True)
class _Download:
    web: HubWeb
    ref: HubRef
    patience: Patience
    watch: Watch
    free: Callable[[Path], int]

    def run(self) -> Path:
        commit = commit_of(self.web, self.ref) if self.ref.hub is Hub.HUGGING_FACE else ""
        pinned = replace(self.ref, revision=commit or self.ref.revision)  # a branch may move under a long download
        listed = {file.path: file for file in list_files(self.web, pinned)}
        files = needed_files(self.web, pinned, listed)
        place = place_for(self.ref, commit or _stand_in(files))
        try:
            return self._into(place, pinned, files)
        except OSError as error:
            raise disk_failure(error, place.root) from error

    def _into(self, place: Place, pinned: HubRef, files: Sequence[HubFile]) -> Path:
        missing = [file for file in files if not place.has(file)]
        here = {file.path: _here(place, file) for file in missing}
        total = sum(file.size_bytes for file in missing)
        check_room(total - sum(here.values()), place.root, self.free)
        if missing:
            for file in missing:
                place.part(file).parent.mkdir(parents=True, exist_ok=True)
            tally = Tally(self.watch, place.root, here, total)
            weights = [file for file in missing if file.path.endswith(".safetensors")]
            for part in ([file for file in missing if file not in weights], weights):  # a copy is whole by its weights
                self._all(part, lambda file, stop: self._one(place, pinned, file, tally, stop))
            unknown = sum(not Digest(file).found for file in missing)
            tally.note(tr("fetch.unchecked" if unknown else "fetch.checked", host=self.web.host, count=unknown))
        return place.finish()

    def _all(self, files: Sequence[HubFile], work: Callable[[HubFile, threading.Event], None]) -> None:
        """A few at a time. The first failure, or the person's Ctrl-C, ends the others too."""
        stop = threading.Event()
        pool, running = ThreadPoolExecutor(_AT_ONCE), list[Future[None]]()
        try:
            running += [pool.submit(work, file, stop) for file in files]
            for future in wait(running, return_when=FIRST_EXCEPTION).done:
                future.result()
        except KeyboardInterrupt:
            message = tr("fetch.interrupted", ref=self.ref)
            raise Interrupted(message, hint=f"fitserve up {self.ref}") from None
        finally:
            stop.set()
            pool.shutdown(wait=False, cancel_futures=True)
            if any(not future.done() for future in running):
                self.web.close()  # whoever waits for bytes fails at once
            pool.shutdown(wait=True)

    def _one(self, place: Place, pinned: HubRef, file: HubFile, tally: Tally, stop: threading.Event) -> None:
        waiting = _Waiting(place.part(file), file, self.patience, tally, stop)
        with held(place.lock(file), waiting.busy):
            if not place.has(file):
                if not place.at_hand(file):
                    self._whole(place.part(file), pinned, file, tally, stop)
                place.keep(file)
        tally.done(file.path, file.size_bytes)

    def _whole(self, part: Path, pinned: HubRef, file: HubFile, tally: Tally, stop: threading.Event) -> None:
        """A part with the hub's checksum: a damaged one is fetched once more."""
        stream = Stream(self.web, self.patience, stop)
        for last in (False, True):
            digest = stream.fetch(file_path(pinned, file.path), file, part, lambda size: tally.set(file.path, size))
            if digest.agrees:
                return
            part.unlink()
            if last:
                raise damaged(self.web.host, file, digest)
            tally.note(tr("fetch.again", file=file.path))


class _Waiting:
    """Another process fetches the same file: its progress is ours, as long as there is any."""

    def __init__(self, part: Path, file: HubFile, patience: Patience, tally: Tally, stop: threading.Event) -> None:
        self.part, self.file, self.patience, self.tally, self.stop = part, file, patience, tally, stop
        self.size, self.since = -1, patience.clock.monotonic()

    def busy(self) -> None:
        if self.stop.wait(_POLL_S):
            raise Interrupted(tr("failure.interrupted"))
        if self.size < 0:
            self.tally.note(tr("fetch.busy", file=self.file.path))
        sizes = [path.stat().st_size for path in self._parts() if path.exists()]
        size, now = max(sizes, default=0), self.patience.clock.monotonic()
        if size != self.size:
            self.size, self.since = size, now
            self.tally.set(self.file.path, min(size, self.file.size_bytes))
        elif now - self.since > self.patience.busy_s:
            raise TimedOut(tr("fetch.stuck", file=self.file.path), evidence=str(self.part))

    def _parts(self) -> list[Path]:
        """Ours, or what huggingface-hub or modelscope write to."""
        stem = self.part.name.partition(".fitserve.")[0]
        return [path for path in self.part.parent.iterdir() if path.name.startswith(stem)]


def _here(place: Place, file: HubFile) -> int:
    """Bytes of a file that need not come again."""
    if place.at_hand(file):
        return file.size_bytes
    part = place.part(file)
    return min(part.stat().st_size, file.size_bytes) if part.exists() else 0


def _stand_in(files: Sequence[HubFile]) -> str:
    """A name for what a mirror has, where it does not tell the commit."""
    return hashlib.sha1("".join(map(str, files)).encode(), usedforsecurity=False).hexdigest()

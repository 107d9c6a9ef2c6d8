"""One line of a vLLM log, whatever wrote it: 0.2 to 0.33, plain or JSON, with or without a container's prefix.

Shapes (source: the logging formats of vLLM 0.4 to 0.33, docker, journald, kubernetes, ray):

    INFO 05-01 12:00:00 [file.py:123] text               0.8.3 and later
    INFO 05-01 12:00:00 file.py:123] text                before
    (Worker_TP0 pid=3) INFO 05-01 12:00:00 [file.py:123] text
    INFO:     text                                       uvicorn
    {"levelname": "INFO", "message": "text", ...}        JSON format
    # text                                               a person's remark in a paste
"""

from __future__ import annotations

import json
import re
from typing import NamedTuple

OWN = "fitserve"  # the process name of lines that fitserve itself wrote
LIMIT = 4000  # characters of one line that are looked at; the rest of a longer line is cut

_LEVEL = r"DEBUG|INFO|WARNING|ERROR|CRITICAL"
_CLOCK = r"(\d\d-\d\d \d\d:\d\d:\d\d(?:[.,]\d{1,6})?)"
_PROCESS = r"\(([A-Za-z_][^()\s]{0,60}(?: rank=\d{1,6})?) pid=(\d{1,10})(?:, ip=[^()\s]{1,60})?\)"
_HEAD = re.compile(
    rf"(?:{_PROCESS} )?({_LEVEL}) (?:{_CLOCK} )?(?:\[([^\]\s]{{1,110}}:\d{{1,6}})\]|([\w./-]{{1,110}}:\d{{1,6}})\]) ?"
)
_LEVELS = re.compile(rf"(?:{_LEVEL}) [\d\[]")
_OWNER = re.compile(rf"{_PROCESS} ?")
_UVICORN = re.compile(rf"({_LEVEL}):\s{{1,8}}")
_ANSI = re.compile(r"\x1b(?:\[[0-?]{0,40}[ -/]{0,4}[@-~]|\][^\x07\x1b]{0,500}(?:\x07|\x1b\\)|[@-Z\\^_])")
_CONTROL = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160), 0xFEFF])
_CONTROL |= dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A)])  # marks that turn text around
_STAMP = re.compile(
    r"\d{4}-\d\d-\d\d[T ](\d\d:\d\d:\d\d)[.,]?\d{0,9}(?:Z|[+-]\d\d:?\d\d)?\s{1,4}(?:std(?:out|err) [FP] )?"
)
_JOURNAL = re.compile(
    r"[A-Z][a-z]{2} [ \d]\d (\d\d:\d\d:\d\d)(?:\.\d+)? [^\s:]{1,80} [^\s:\[]{1,60}(?:\[\d{1,10}\])?: "
)
_COMPOSE = re.compile(r"()[A-Za-z0-9][\w./-]{0,80} {1,40}\| ")
_QUOTE = re.compile(r"()>{1,4} ?")  # a log quoted in an issue or a mail
_RANK = re.compile(r"()\[(?:rank ?)?\d{1,5}\]: ?")
_TEXT_KEYS = ("message", "msg", "MESSAGE", "log", "text", "event")
_LEVEL_KEYS = ("levelname", "level", "severity", "LEVEL")
_TIME_KEYS = ("asctime", "time", "timestamp", "ts", "@timestamp")


class LogLine(NamedTuple):
    """A line taken apart. `text` is the message alone; `process` is '' where the line does not say who wrote it.

    `level` is '' for bare output (tracebacks, progress bars) and "NOTE" for a person's remark.
    """

    number: int  # from 1
    process: str  # "Worker_TP0", "EngineCore", "APIServer"
    pid: int | None
    level: str
    time: str  # as logged: "05-01 12:00:00"
    source: str  # "gpu_worker.py:298"
    text: str


def clean(raw: str) -> str:
    """The line without colours, terminal commands, control characters and the overwritten part of a progress bar."""
    text = raw[:LIMIT].rstrip("\r\n")
    if text.isprintable():
        return text
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    if "\r" in text:
        text = text.rsplit("\r", 1)[1] or text.rsplit("\r", 2)[-2]
    return text.translate(_CONTROL)


def parse(number: int, raw: str) -> LogLine:
    """Take one line apart. Never fails: what is not recognized is all text."""
    text = clean(raw)
    head = _HEAD.match(text)
    if head:
        return _vllm(number, text, head, "", None)
    return _wrapped(number, text)


def _vllm(number: int, text: str, head: re.Match[str], process: str, pid: int | None) -> LogLine:
    name, own_pid, level, time, new, old = head.groups()
    number_of_process = int(own_pid) if own_pid else pid
    return LogLine(number, name or process, number_of_process, level, time or "", new or old, text[head.end() :])


def _wrapped(number: int, text: str) -> LogLine:
    """Peel prefixes of containers, journals and launchers, then look again."""
    process, pid, time = "", None, ""
    for _ in range(5):
        if text.startswith("{") and (inner := _from_json(text)):
            text, level, stamp, process, pid = inner
            if level and not _HEAD.match(text):
                return LogLine(number, process, pid, level, stamp or time, "", text)
            time = stamp or time
        elif head := _HEAD.match(text):
            return _vllm(number, text, head, process, pid)
        elif text.startswith("(") and (owner := _OWNER.match(text)):
            process, pid, text = owner[1], int(owner[2]), text[owner.end() :]
        elif wrapper := _wrapper(text):
            time, text = wrapper[1] or time, text[wrapper.end() :]
        else:
            break
    return _bare(number, text, process, pid, time)


def _wrapper(text: str) -> re.Match[str] | None:
    first = text[:1]
    if first in "[>":
        return _RANK.match(text) or _QUOTE.match(text)
    if first.isdigit() and (stamp := _STAMP.match(text)):
        return stamp
    if first.isupper() and (journal := _JOURNAL.match(text)):
        return journal
    return _COMPOSE.match(text) if first.isalnum() and " | " in text[:140] else None


def _bare(number: int, text: str, process: str, pid: int | None, time: str) -> LogLine:
    head = _HEAD.search(text, 0, 300) if "] " in text and _LEVELS.search(text, 0, 300) else None
    if head:  # after a logging prefix of somebody's own
        return _vllm(number, text, head, process, pid)
    level = _UVICORN.match(text)
    if level:
        return LogLine(number, process, pid, level[1], time, "", text[level.end() :])
    if text.startswith("[fitserve] "):  # the runner's own word in the engine's log
        return LogLine(number, OWN, pid, "INFO", time, "", text[11:])
    if text.startswith("# ") and not process and " blocks:" not in text:
        return LogLine(number, "", None, "NOTE", "", "", text[2:])
    return LogLine(number, process, pid, "", time, "", text)


def _from_json(text: str) -> tuple[str, str, str, str, int | None] | None:
    """Message, level, time, process and pid of a JSON log line, or None where it is not one."""
    try:
        record = json.loads(text)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict):
        return None
    message = _first(record, _TEXT_KEYS)
    if not message:
        return None
    pid = record.get("process", record.get("_PID"))
    level = _first(record, _LEVEL_KEYS).upper()
    trace = record.get("exc_info")
    body = f"{message}\n{trace}" if isinstance(trace, str) else message
    process = str(record.get("vllm_process_name") or record.get("processName") or "")
    return clean(body.rstrip("\n")), level, _first(record, _TIME_KEYS), process, pid if isinstance(pid, int) else None


def _first(record: dict[str, object], keys: tuple[str, ...]) -> str:
    return next((value for key in keys if isinstance(value := record.get(key), str)), "")

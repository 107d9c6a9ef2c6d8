"""The checkpoint's files are missing, cut short, locked or out of reach.

Sees: a safetensors header that can't be read, a file that the folder lacks, a gated repository, no network, a full
disk, a Git LFS pointer in place of weights.
Why: an interrupted download leaves short shards; a gated model needs a token that was granted access; offline mode
needs a complete snapshot.
Disproved by: `fitserve inspect MODEL` finding every shard whole.
"""

from __future__ import annotations

import re

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix, Severity
from fitserve.diagnose.fixes import environment, make, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import complained, early, finding
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "checkpoint_unavailable"
_NAME = re.compile(r"Repo id must be in the form|local folder|local directory")
_KEYS = ("shard_damaged", "gated", "no_network", "disk_full", "file_missing", "no_weights")


def judge(case: Case) -> Finding | None:
    for key in _KEYS:
        seen = early(case, key)
        if seen is not None:
            return finding(case, CAUSE, _stage(case, key), [seen], _fixes(key, seen.text), key=f"checkpoint_{key}")
    template = complained(case, "no_template")
    return None if template is None else _without_template(case, template)


def _without_template(case: Case, seen: Hit) -> Finding:
    """The service runs, and every chat is refused."""
    fixes = [make({"--chat-template": "chat_template.jinja"}, "chat_template"), step("instruct_model")]
    stage, key = Stage.CLIENT if case.served else Stage.CONFIG, "checkpoint_no_template"
    severity = Severity.WARN if case.served else Severity.FATAL
    return finding(case, CAUSE, stage, [seen], fixes, severity=severity, key=key)


def _stage(case: Case, key: str) -> Stage:
    if key in ("gated", "no_network", "disk_full"):
        return Stage.DOWNLOAD
    if key in ("shard_damaged", "no_weights"):
        return Stage.LOAD
    return Stage.PROFILE if "profile_run" in case.frames else _by_writer(case)


def _by_writer(case: Case) -> Stage:
    """A missing file stops the configuration, unless a worker that loads met it."""
    shard = any(".safetensors" in hit.text for hit in case.hits("file_missing"))
    loading = shard or case.frames & {"load_model", "load_weights", "safetensors_weights_iterator"}
    return Stage.LOAD if loading else Stage.CONFIG


def _fixes(key: str, text: str) -> list[Fix | None]:
    if key == "gated" and _NAME.search(text):
        return [step("local_path"), step("grant_access")]
    if key == "gated":
        return [step("grant_access"), environment("offline", HF_HUB_OFFLINE="1")]
    if key == "no_network":
        return [environment("offline", HF_HUB_OFFLINE="1"), step("mirror")]
    if key == "disk_full":
        return [step("free_disk")]
    named = step("local_path") if _NAME.search(text) else None
    return [named, step("fetch_again"), step("inspect_model")]


RULE = Rule(
    CAUSE,
    (
        see(
            "shard_damaged",
            "safetensorerror deserializing unpickling invalid consistency incomplete unpicklingerror "
            "truncated zip input invalidheader",
            r"SafetensorError|Error while deserializing|invalid load key|UnpicklingError|Consistency check failed|"
            r"incomplete metadata|InvalidHeader|file (?:is )?truncated|failed reading zip archive|Ran out of input",
        ),
        see(
            "gated",
            "gated restricted unauthorized repository client revision gatedrepoerror "
            "repositorynotfounderror revisionnotfounderror identifier",
            r"gated repo|GatedRepoError|Access to model .{1,200} is restricted|40[13] Client Error|404 Client Error|"
            r"RepositoryNotFoundError|Repository Not Found|RevisionNotFoundError|"
            r"is not a local folder and is not a valid model identifier",
        ),
        see(
            "no_network",
            "connect offline entry connection retries localentrynotfounderror timed resolve "
            "hf_hub_offline nameresolutionerror reach connectionerror connecttimeout readtimeout "
            "sslerror",
            r"couldn't connect to ['\"]?https?://|LocalEntryNotFoundError|offline mode is enabled|"
            r"HF_HUB_OFFLINE.{0,60}(?:set|enabled|disable)|"
            r"Max retries exceeded with url|NameResolutionError|Cannot reach https?://|"
            r"(?:ConnectionError|ConnectTimeout|ReadTimeout|SSLError)\b.{0,200}(?:huggingface|"
            r"hf\.co|modelscope|hf-mirror)",
        ),
        see("disk_full", "space", r"No space left on device(?!.{0,80}(?:psm_|/dev/shm))"),
        see(
            "file_missing",
            "file files load config path directory repo unrecognized json jsondecodeerror",
            r"does not appear to have (?:a file|files) named|Invalid repository ID or local directory|"
            r"Can't load (?:the )?(?:tokenizer|configuration|config|image processor|feature extractor|processor)|"
            r"No such file or directory: .{0,300}(?:safetensors|config\.json|tokenizer|\.index\.json|preprocessor)|"
            r"Repo id must be in the form|is not a valid JSON file|no file named .{0,80}(?:safetensors|bin|config)|"
            r"Unrecognized model in .{1,200}model_type|JSONDecodeError",
        ),
        see(
            "no_template",
            "template chat_template",
            r"must provide a chat template if the tokenizer|tokenizer\.chat_template is not set|"
            r"does not have a chat template|[Ss]upplied chat template .{0,300}(?:doesn't exist|failed to be opened)|"
            r"No chat template available",
        ),
        see("no_weights", "weights", r"Cannot find any model weights|weights were not initialized from checkpoint"),
    ),
    judge,
    explains=frozenset({"version_mismatch"}),
)

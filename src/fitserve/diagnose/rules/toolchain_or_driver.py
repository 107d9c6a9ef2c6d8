"""The build, the compiler or the driver does not suit the card.

Sees: «no kernel image is available», a capability that the PyTorch build does not list, a JIT build that fails
(ninja, nvcc, a C compiler, Python.h), a driver that is too old (errors 803, 804), a library that is missing or of
another build.
Why: wheels hold kernels for a list of capabilities; FlashInfer and Triton compile at run time and need a compiler
that matches torch's CUDA; a container's CUDA must not be newer than the host's driver allows.
Disproved by: the same build working on the same card with another model.
"""

from __future__ import annotations

import re

from fitserve.diagnose.case import Case
from fitserve.diagnose.finding import Finding, Fix
from fitserve.diagnose.fixes import environment, step
from fitserve.diagnose.rule import Rule, see
from fitserve.diagnose.rules._plain import finding
from fitserve.observe.log.start import Hit
from fitserve.stage import Stage

CAUSE = "toolchain_or_driver"
_LACKS = re.compile(r"[Pp]lease install|requires installation|packages that were not found|No module named '(?!vllm)")
_BLIND = re.compile(r"Failed to infer device type|No CUDA GPUs|no CUDA-capable device|NVML Shared Library")


def judge(case: Case) -> Finding | None:
    for key, stage in (
        ("driver", Stage.CONFIG),
        ("ptx", Stage.LOAD),
        ("kernels", Stage.LOAD),
        ("jit", Stage.WARMUP),
        ("library", Stage.CONFIG),
    ):
        seen = case.complaints(key) or (case.hits(key) if key == "kernels" else [])
        if seen and (case.failures or key == "driver" or seen[0].level in ("ERROR", "CRITICAL")):
            detail = [hit for hit in case.hits("jit_detail") if key == "jit"]
            return finding(
                case,
                CAUSE,
                _stage(case, key, stage, detail),
                [seen[0], *detail[:2]],
                _fixes(case, key, detail),
                key="toolchain_driver" if key == "ptx" else f"toolchain_{key}",
            )
    return None


def _stage(case: Case, key: str, default: Stage, detail: list[Hit]) -> Stage:
    """Samplers are compiled in the profiling pass, attention at its first run, which comes after the cache."""
    if key in ("kernels", "ptx"):
        return case.started(default)
    if key != "jit":
        return case.place(default)
    text = " ".join(hit.text for hit in [*case.hits("jit"), *detail]).lower()
    if case.served:
        return Stage.SERVE
    if case.framed is not None:
        return case.framed
    if "sampling" in text:
        return Stage.PROFILE
    if any(word in text for word in ("prefill", "decode", "attention", "mla", "page")):
        return Stage.WARMUP
    reached = case.start.stage
    return reached if reached is not None and Stage.LOAD.before(reached) else Stage.PROFILE


def _fixes(case: Case, key: str, detail: list[Hit]) -> list[Fix | None]:
    if key in ("driver", "ptx"):
        return [step("newer_driver"), step("older_image")]
    if key == "kernels":
        return [step("newer_build")]
    if key == "library":
        if any(_LACKS.search(hit.text) for hit in case.hits("library")):
            return [step("install_package"), step("matching_build")]
        blind = any(_BLIND.search(hit.text) for hit in case.hits("library"))
        return [step("card_visible") if blind else None, step("matching_build")]
    text = " ".join(hit.text for hit in [*case.hits("jit"), *detail])
    compiler = None if "nvcc" in text or "ninja" in text.lower() else step("compiler")
    sampler = environment("no_flashinfer_sampler", VLLM_USE_FLASHINFER_SAMPLER="0") if "sampling" in text else None
    home = environment("cuda_home", CUDA_HOME="/usr/local/cuda") if "nvcc" in text or "CUDA_HOME" in text else None
    return [compiler, sampler, home, step("clear_jit_cache")]


RULE = Rule(
    CAUSE,
    (
        see(
            "driver",
            "driver compatibility initialized initialization cuda unsatisfied operation",
            r"forward compatibility was attempted|driver (?:on your system )?is too old|driver "
            r"version is insufficient|"
            r"unsupported display driver|Driver/library version mismatch|system not yet initialized|"
            r"CUDA driver initialization failed|CUDA error: initialization error|"
            r"OS call failed or operation not supported|"
            r"unsatisfied condition: cuda",
        ),
        see("ptx", "unsupported", r"compiled with an unsupported toolchain"),
        see(
            "kernels",
            "kernel compatible unsupported compiled",
            r"no kernel image is available|is not compatible with the current PyTorch installation|"
            r"device kernel image is invalid|No compiled [\w ]{1,60}(?:kernel|for)\b",
        ),
        see(
            "jit",
            "ninja nvcc gcc compiler fatal cuda_home ptxas calledprocesserror inductorerror compileerror "
            "cppcompileerror unsupported compile",
            r"Ninja build failed|nvcc: not found|nvcc: No such file|Could not find nvcc|Failed to find C compiler|"
            r"No such file or directory: '?(?:\S{0,80}/)?(?:ptxas|nvcc|ninja|gcc)\b|"
            r"fatal error: \S{1,80}\.h|CUDA_HOME (?:environment variable )?is not set|Unsupported gpu architecture|"
            r"ptxas (?:fatal|error)|nvcc fatal|CalledProcessError: Command .{0,80}(?:gcc|g\+\+|nvcc|ninja|clang|cc')|"
            r"C(?:pp|\+\+)CompileError|C\+\+ compile error",
        ),
        see("jit_detail", "nvcc ninja failed", r"/nvcc\b|FAILED: \S|ninja: Entering directory"),
        see(
            "library",
            "cannot symbol glibc glibcxx compiled device nvml torchvision gpus _c cuda found module install "
            "installation packages requires triton",
            r"lib(?:(?:cu|nv|torch|c10)\w{0,40}|nccl)\.so\S{0,12}: cannot open shared object|undefined symbol: |"
            r"GLIBC(?:XX)?_\S{1,12}' not found|Torch not compiled with CUDA enabled|Failed to infer device type|"
            r"No CUDA GPUs are available|no CUDA-capable device|NVML Shared Library Not Found|"
            r"operator torchvision::nms does not exist|No module named 'vllm\._C'|CUDA unknown error|"
            r"No module named '(?!(?:transformers|vllm|torch|tokenizers|huggingface_hub)\b)|"
            r"[Pp]lease install .{1,80}(?:pip install|`)|requires installation of \w|"
            r"requires the following packages that were not found|Model Runner V2 requires Triton",
        ),
    ),
    judge,
    explains=frozenset({"kernel_crash", "version_mismatch"}),
)

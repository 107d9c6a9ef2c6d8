"""Which stage a start has reached, from the lines that vLLM itself writes (0.4 to 0.33, GPU and CPU)."""

from __future__ import annotations

from fitserve.observe.log.lines import LogLine, parse
from fitserve.observe.log.match import Index, pattern
from fitserve.stage import Stage

# A line that says: this stage has begun. Several lines a stage, because versions, runners and devices differ.
MARKS = [
    pattern(Stage.CONFIG, "version", r"vLLM (?:API )?server version|^version \d|█ +version \d"),
    pattern(Stage.CONFIG, "args", r"^(?:non-default )?args: "),
    pattern(Stage.CONFIG, "platform", r"^Automatically detected platform"),
    pattern(Stage.CONFIG, "architecture", r"^Resolved architecture: "),
    pattern(Stage.DOWNLOAD, "fetching", r"^Fetching \d{1,6} files"),
    pattern(Stage.DOWNLOAD, "downloading", r"^Downloading (?:shards|.{0,80}(?:safetensors|bin|json|Model))"),
    pattern(Stage.DOWNLOAD, "weights", r"^Time spent downloading weights"),
    pattern(Stage.LOAD, "world", r"rank \d{1,5} in world size \d|^world_size=\d"),
    pattern(Stage.LOAD, "nccl", r"^(?:vLLM is using nccl==|Found nccl from library)"),
    pattern(Stage.LOAD, "load", r"^Starting to load model"),
    pattern(Stage.LOAD, "loading", r"^Loading (?:safetensors|pt|[\w-]{1,20}) checkpoint shards|^Loading drafter model"),
    pattern(Stage.LOAD, "checkpoint", r"^(?:Filesystem type for checkpoints|Checkpoint size)"),
    pattern(Stage.LOAD, "backend", r"^Using .{0,60}(?:attention )?backend|^Using .{1,60} backend for "),
    pattern(Stage.LOAD, "worker", r"^Worker ready; awaiting tasks"),
    pattern(Stage.LOAD, "weights", r"^Loading weights took"),
    pattern(Stage.PROFILE, "loading", r"^(?:Model loading took|Loading model weights took)"),
    pattern(Stage.PROFILE, "encoder", r"^Encoder cache will be initialized"),
    pattern(Stage.PROFILE, "profiling", r"^(?:Profiling CUDA graph memory|Skipping memory profiling for multimodal)"),
    pattern(Stage.PROFILE, "profiling", r"sequence length used for profiling"),
    pattern(
        Stage.PROFILE, "torch", r"torch\.compile (?:takes|took) \d|for vLLM's torch\.compile|Dynamo bytecode transform"
    ),
    pattern(Stage.PROFILE, "graph", r"Compiling a graph for|Cache the graph (?:of|for)"),
    pattern(Stage.PROFILE, "warmup", r"Initial profiling/warmup run took"),
    pattern(Stage.PROFILE, "overriding", r"^Overriding num_gpu_blocks=0 "),
    pattern(Stage.PROFILE, "warming", r"^Warming up (?:model for the compilation|done)"),
    pattern(Stage.KV_ALLOC, "memory", r"^(?:Available KV cache memory|Memory profiling takes|Initial free memory)"),
    pattern(Stage.KV_ALLOC, "cache", r"GiB for KV cache on node|the rest of the memory reserved for KV Cache"),
    pattern(Stage.KV_ALLOC, "cache", r"^\w{2,6}(?: \+ host)? KV cache size: "),
    pattern(Stage.KV_ALLOC, "blocks", r"^# ?\w{2,6} blocks: \d"),
    pattern(Stage.KV_ALLOC, "concurrency", r"^Maximum concurrency for "),
    pattern(Stage.GRAPH_CAPTURE, "capturing", r"^Capturing (?:CUDA graph|cudagraph|drafter CUDA|the model for CUDA)"),
    pattern(Stage.GRAPH_CAPTURE, "capturing", r"^Graph capturing started"),
    pattern(Stage.WARMUP, "graph", r"^(?:Graph capturing finished|CUDA graph pool memory)"),
    pattern(Stage.WARMUP, "registering", r"^Registering \d{1,9} cuda graph addresses"),
    pattern(Stage.WARMUP, "engine", r"^init engine \(profile, create kv cache, warmup model\) took"),
    pattern(Stage.SERVE, "application", r"^Application startup complete"),
    pattern(Stage.SERVE, "routes", r"^Available routes are:"),
    pattern(Stage.SERVE, "uvicorn", r"^Uvicorn running on"),
    pattern(Stage.SERVE, "server", r"^Starting vLLM (?:API )?server"),
    pattern(Stage.SERVE, "throughput", r"Avg (?:prompt|generation) throughput: [\d.]+ tokens/s"),
    pattern(Stage.SERVE, "running", r"^Engine \d{1,4}: .{0,80}Running: \d"),
    pattern(Stage.SERVE, "request", r"^(?:Received|Added|Finished) request "),
    pattern(Stage.SERVE, "http", r'"(?:GET|POST) /\S{0,200} HTTP/1\.1" \d{3}'),
]
_INDEX = Index(MARKS)
_ORDER = {stage: number for number, stage in enumerate(Stage)}


class StageReader:
    """Follows one start. Feed it every line; it tells each stage when it begins (download and load may alternate)."""

    def __init__(self) -> None:
        self.stage: Stage | None = None

    def feed(self, line: str) -> Stage | None:
        """The stage that this raw line enters for the first time, or None."""
        return self.feed_line(parse(0, line))

    def feed_line(self, line: LogLine) -> Stage | None:
        """The same for a line that is already taken apart."""
        reached = stage_of(line, [Stage(item.key) for _, item, _ in _INDEX.hits(line.text)])
        return reached if reached is not None and self.enter(reached) else None

    def enter(self, reached: Stage) -> bool:
        """Go to this stage; False where the start is already there or further."""
        if self.stage is None:
            later = True
        elif reached is Stage.DOWNLOAD:  # weights are fetched by the worker that is about to load them
            later = self.stage in (Stage.CONFIG, Stage.LOAD)
        else:
            later = _ORDER[reached] > _ORDER[self.stage]
        if later:
            self.stage = reached
        return later


def stage_of(line: LogLine, marks: list[Stage]) -> Stage | None:
    """The stage whose beginning this line reports, given the marks found in it: errors and remarks report none."""
    if not marks or line.level in ("ERROR", "CRITICAL", "NOTE"):
        return None
    return max(marks, key=lambda stage: _ORDER[stage])

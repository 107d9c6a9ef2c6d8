"""Where vLLM begins in what people type and paste."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fitserve.plan.parse import parse_text

DOCKER = (
    "docker run --runtime nvidia --gpus all -v ~/.cache/huggingface:/root/.cache/huggingface -p 8000:8000 --ipc=host "
    "--env HF_HUB_OFFLINE=1 --name vllm vllm/vllm-openai:v0.22.1 --model Q/M --max-model-len 8K"
)


@pytest.mark.parametrize(
    "text",
    [
        DOCKER,
        "sudo docker run -d --gpus all vllm/vllm-openai:latest Q/M --max-model-len 8192",
        "podman run --rm registry:5000/team/vllm-openai@sha256:00ff Q/M --max-model-len 8192",
        "docker run --entrypoint bash vllm/vllm-openai vllm serve Q/M --max-model-len 8192",
        "uv run vllm serve Q/M --max-model-len 8K",
        "uv run --with vllm -- vllm serve Q/M --max-model-len 8K",
        "export A=1; vllm serve Q/M --max-model-len 8K",
        "cd /srv && sudo -E vllm serve Q/M --max-model-len 8K",
        "nohup vllm serve Q/M --max-model-len 8K > log.txt 2>&1 &",
        "vllm serve Q/M --max-model-len 8K 2>&1 | tee log.txt",
        "vllm serve Q/M --max-model-len 8K && echo --max-num-seqs 4",
        "export A=1\n# the model\nvllm serve Q/M\n  --max-model-len 8K\necho --max-num-seqs 4",
        "pip install vllm\\\n && python3 -m vllm.entrypoints.openai.api_server --model Q/M --max-model-len 8K",
    ],
)
def test_the_program_is_found(text: str) -> None:
    parsed = parse_text(text)
    assert (parsed.model, parsed.request.max_model_len) == ("Q/M", 8192)
    assert (parsed.unknown, parsed.stray, parsed.request.max_num_seqs) == ((), (), None)


def test_what_stands_before_it_is_read() -> None:
    parsed = parse_text(DOCKER)
    assert parsed.version == "0.22.1"
    assert parsed.env == {"HF_HUB_OFFLINE": "1"}
    exported = parse_text("export CUDA_VISIBLE_DEVICES=1 A=2; B=3 vllm serve Q/M")
    assert exported.env == {"CUDA_VISIBLE_DEVICES": "1", "A": "2", "B": "3"}
    card = parse_text("docker run --gpus '\"device=1\"' vllm/vllm-openai Q/M")
    assert card.env == {"CUDA_VISIBLE_DEVICES": "1"}


@given(st.lists(st.sampled_from(["vllm", "serve", "docker", "run", "vllm/vllm-openai:v1", "-m", ";", "&&", ">", "A=1",
                                 "--model", "x", "python", "export", "-e"]), max_size=9))  # fmt: skip
def test_no_command_breaks_it(words: list[str]) -> None:
    parse_text(" ".join(words))

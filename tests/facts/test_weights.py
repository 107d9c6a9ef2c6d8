"""Tensors by the module that loads them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fitserve.facts.known_models import known_names, read_known
from fitserve.facts.model import ModelFacts, Tensor
from fitserve.facts.summary import left_in_sixteen_bit, summarize
from fitserve.facts.weights import ModuleGroup, group_weights, parameters

GROUPS = [
    ("model.embed_tokens.weight", ModuleGroup.EMBED, "embed_tokens", None),
    ("lm_head.weight", ModuleGroup.LM_HEAD, "lm_head", None),
    ("model.layers.3.self_attn.q_proj.weight_packed", ModuleGroup.ATTENTION, "q_proj", 3),
    ("model.layers.3.self_attn.q_norm.weight", ModuleGroup.NORMS, "q_norm", 3),
    ("model.language_model.layers.2.linear_attn.A_log", ModuleGroup.LINEAR_ATTENTION, "A_log", 2),
    ("model.language_model.layers.2.linear_attn.norm.weight", ModuleGroup.NORMS, "norm", 2),
    ("model.layers.0.mlp.gate_proj.qweight", ModuleGroup.MLP, "gate_proj", 0),
    ("model.layers.1.mlp.gate.weight", ModuleGroup.ROUTER, "gate", 1),
    ("model.layers.1.mlp.shared_expert_gate.weight", ModuleGroup.ROUTER, "shared_expert_gate", 1),
    ("model.layers.1.mlp.shared_expert.up_proj.weight", ModuleGroup.SHARED_EXPERT, "up_proj", 1),
    ("model.layers.1.mlp.experts.17.down_proj.weight_scale", ModuleGroup.EXPERTS, "down_proj", 1),
    ("model.layers.1.mlp.experts.gate_up_proj", ModuleGroup.EXPERTS, "gate_up_proj", 1),
    ("model.layers.1.block_sparse_moe.experts.0.w1.weight", ModuleGroup.EXPERTS, "w1", 1),
    ("model.visual.blocks.5.attn.qkv.bias", ModuleGroup.VISION, "attn.qkv", 5),
    ("visual.merger.mlp.0.weight", ModuleGroup.VISION, "merger.mlp.0", None),
    ("visual.merger.mlp.2.weight", ModuleGroup.VISION, "merger.mlp.2", None),
    ("model.visual.patch_embed.proj.weight", ModuleGroup.VISION, "patch_embed.proj", None),
    ("model.visual.deepstack_merger_list.1.norm.bias", ModuleGroup.VISION, "deepstack_merger_list.norm", 1),
    ("mtp.layers.0.mlp.experts.9.up_proj.weight", ModuleGroup.MTP, "mlp.experts.up_proj", 0),
    ("mtp.fc.weight", ModuleGroup.MTP, "fc", None),
    ("strange", ModuleGroup.OTHER, "strange", None),
    ("model.layers.².self_attn.q_proj.weight", ModuleGroup.ATTENTION, "q_proj", None),
]


def model_of(*names: str) -> ModelFacts:
    tensors = tuple(Tensor(name, "BF16", (2, 2), 8, "a") for name in names)
    return replace(read_known("qwen3.5-4b"), tensors=tensors)


@pytest.mark.parametrize(("name", "group", "kind", "layer"), GROUPS)
def test_each_name_has_its_place(name: str, group: ModuleGroup, kind: str, layer: int | None) -> None:
    (found,) = group_weights(model_of(name))
    assert (found.group, found.module_kind, found.layer) == (group, kind, layer)


def test_a_layer_past_the_last_is_mtp() -> None:
    names = ("model.layers.31.self_attn.q_proj.weight", "model.layers.32.self_attn.q_proj.weight")
    assert [group.group for group in group_weights(model_of(*names))] == [ModuleGroup.ATTENTION, ModuleGroup.MTP]


def test_experts_of_a_layer_are_together() -> None:
    names = [f"model.layers.0.mlp.experts.{expert}.up_proj.weight" for expert in range(3)]
    (found,) = group_weights(model_of(*names))
    assert len(found.tensors) == 3 and found.size_bytes == 24 and found.bytes_by_dtype == {"BF16": 24}


@pytest.mark.parametrize("name", [name for name in known_names() if not name.startswith(("qwen3.6", "qwen3.8"))])
def test_every_byte_is_in_one_group_and_none_is_left_over(name: str) -> None:
    facts = read_known(name)
    groups = group_weights(facts)
    assert sum(group.size_bytes for group in groups) == facts.checkpoint_bytes
    assert sum(len(group.tensors) for group in groups) == len(facts.tensors)
    assert not [group for group in groups if group.group is ModuleGroup.OTHER]


@pytest.mark.parametrize(
    ("tensor", "bits", "count"),
    [
        (Tensor("a.weight", "BF16", (4, 8), 64, ""), None, 32),
        (Tensor("a.weight_packed", "I32", (4, 8), 128, ""), 4, 256),
        (Tensor("a.weight_packed", "U8", (4, 8), 32, ""), 4, 64),
        (Tensor("a.qweight", "I32", (4, 8), 128, ""), 8, 128),
        (Tensor("a.weight", "U8", (4, 8), 32, ""), 4, 64),
        (Tensor("a.weight_scale", "BF16", (4, 8), 64, ""), 4, 0),
        (Tensor("a.weight_shape", "I64", (2,), 16, ""), 4, 0),
        (Tensor("a.qzeros", "I32", (4, 8), 128, ""), 4, 0),
    ],
)
def test_parameters_are_counted_unpacked(tensor: Tensor, bits: int | None, count: int) -> None:
    assert parameters(tensor, bits) == count


def test_the_lead_model_has_as_many_parameters_as_its_16_bit_build() -> None:
    packed, plain = read_known("qwen3.5-35b-a3b-awq-4bit"), read_known("qwen3.5-35b-a3b")
    assert sum(r.parameters for r in summarize(packed)) == sum(r.parameters for r in summarize(plain)) == 35_951_822_704


def test_what_is_left_in_16_bit() -> None:
    facts = read_known("qwen3.5-35b-a3b-awq-4bit")
    left = {row.group for row in left_in_sixteen_bit(facts, summarize(facts))}
    assert ModuleGroup.EXPERTS not in left and {ModuleGroup.ATTENTION, ModuleGroup.SHARED_EXPERT} <= left
    plain = read_known("qwen3.5-35b-a3b")
    assert left_in_sixteen_bit(plain, summarize(plain)) == ()

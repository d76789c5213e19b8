"""What `oomph plan --serve` says of a model, against the model itself generating on a GPU that is not there."""

from __future__ import annotations

import json
import pathlib
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("transformers")

WIDE = {"hidden_size": 256, "intermediate_size": 512, "num_attention_heads": 8, "vocab_size": 1000, "dtype": "float32"}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 128}
LATENT = {"kv_lora_rank": 64, "q_lora_rank": 48, "qk_nope_head_dim": 32, "qk_rope_head_dim": 16, "v_head_dim": 32}
# One configuration for each kind of attention, by its class in transformers.
CONFIGS: dict[str, tuple[str, dict[str, Any]]] = {
    "every-head": ("GPT2Config", {"n_layer": 2, "n_embd": 256, "n_head": 8, "vocab_size": 1000, "dtype": "float32"}),
    "groups": ("LlamaConfig", WIDE | {"num_hidden_layers": 3, "num_key_value_heads": 2, "tie_word_embeddings": True}),
    "one-head": ("FalconConfig", WIDE | {"num_hidden_layers": 2, "multi_query": True, "new_decoder_architecture": False}),
    "window": ("MistralConfig", WIDE | {"num_hidden_layers": 2, "num_key_value_heads": 2, "sliding_window": 16}),
    "mixed": ("Gemma3TextConfig", WIDE | {"num_hidden_layers": 6, "num_key_value_heads": 2, "head_dim": 32, "sliding_window": 16}),
    "latent": ("DeepseekV3Config", WIDE | EXPERTS | LATENT | {"num_hidden_layers": 2, "num_key_value_heads": 8, "n_routed_experts": 8,
               "n_group": 2, "topk_group": 1, "first_k_dense_replace": 1}),
    "state": ("Qwen3NextConfig", WIDE | EXPERTS | {"num_hidden_layers": 4, "num_key_value_heads": 2, "num_experts": 4}),
}

# Each model generates on the phantom: what its parameters take, and its cache at the end.
GENERATES = """
import json, pathlib, torch, transformers
from oomph._plan import served_model

found = {}
for folder in sorted(path for path in pathlib.Path("models").iterdir()):
    described = served_model.described(str(folder))
    config = transformers.AutoConfig.from_pretrained(folder)
    with torch.device("cuda"):
        model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    found[folder.name] = {"described": described, "weights": sum(one.nbytes for one in model.parameters())}
    for kind in ("dynamic", "static") if folder.name in ("groups", "every-head") else ("dynamic",):
        ids = torch.ones(BATCH, LENGTH, dtype=torch.long).cuda()
        words = {"cache_implementation": "static"} if kind == "static" else {}
        out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=NEW, min_new_tokens=NEW, do_sample=False,
                             pad_token_id=0, return_dict_in_generate=True, **words)
        held = [value for layer in out.past_key_values.layers for value in vars(layer).values()]
        held += [one for value in held if isinstance(value, dict) for one in value.values()]
        tensors = [one for one in held if isinstance(one, torch.Tensor) and one.dim() > 1]
        found[folder.name][kind] = sum(one.nbytes for one in tensors)
json.dump(found, open("found.json", "w"))
"""
BATCH, LENGTH, NEW = 2, 24, 8


@pytest.fixture(scope="module")
def models(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with the configurations."""
    import transformers

    root = tmp_path_factory.mktemp("serve")
    for name, (kind, words) in CONFIGS.items():
        getattr(transformers, kind)(**words).save_pretrained(root / "models" / name)
    return root


Served = Callable[..., dict[str, Any]]


@pytest.fixture
def served(models: pathlib.Path, oomph_bin: str, warm_python: str) -> Served:
    """What `oomph plan --serve` says of one of them."""

    def plan(name: str, *options: str, python: str = warm_python, code: int = 0) -> dict[str, Any]:
        words = [oomph_bin, "plan", "--json", "--serve", f"models/{name}", "--gpu", "T4", "--python", python, *options]
        done = subprocess.run(words, cwd=models, capture_output=True, text=True, timeout=300)
        assert done.returncode == code, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    return plan


def kept(layers: list[dict[str, Any]], tokens: int) -> int:
    """What layers keep of so many tokens in fp32. Those with a window hold one token less than they see: the next is to come."""
    held = [min(tokens, layer["window"] - 1) if layer["window"] else tokens for layer in layers]
    return sum(4 * (layer["per_token"] * count + layer["fixed"]) for layer, count in zip(layers, held, strict=True))


@pytest.fixture(scope="module")
def generated(models: pathlib.Path, oomph_bin: str, warm_python: str) -> dict[str, Any]:
    """What each model takes when it generates."""
    (models / "generates.py").write_text(f"BATCH, LENGTH, NEW = {BATCH}, {LENGTH}, {NEW}\n" + GENERATES)
    words = [oomph_bin, "run", "--phantom", "--gpu", "T4", "--python", warm_python, "generates.py"]
    done = subprocess.run(words, cwd=models, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads((models / "found.json").read_text())
    return found


@pytest.mark.parametrize("name", CONFIGS)
def test_weights_and_cache_are_those_of_generate(generated: dict[str, Any], name: str) -> None:
    sizes = generated[name]
    described = sizes["described"]
    assert described["layers"], described
    assert 4 * described["parameters"] == sizes["weights"]
    # The last token that is generated is not computed with.
    caches = {kind: size for kind, size in sizes.items() if kind in ("dynamic", "static")}
    assert caches == dict.fromkeys(caches, BATCH * kept(described["layers"], LENGTH + NEW - 1))


def test_the_plan_counts_what_was_built(served: Served, generated: dict[str, Any]) -> None:
    plan = served("latent", "--context", "64")
    assert (plan["known_by"], plan["weights_bytes"]) == ("built", generated["latent"]["weights"])
    assert plan["layers"] == [{"count": 2, "kind": "latent", "heads": 1, "per_token": 80, "fixed": 0, "window": None}]
    assert (plan["token_bytes"], plan["sequence_bytes"]) == (2 * 80 * 4, 64 * 2 * 80 * 4)


def test_without_transformers_the_fields_are_counted_and_that_is_said(served: Served, models: pathlib.Path) -> None:
    broken = models / "python-without"
    broken.write_text("#!/bin/sh\nexit 3\n")
    broken.chmod(0o755)
    plan = served("groups", "--context", "64", python=str(broken))
    assert plan["known_by"] == "fields"
    assert plan["layers"] == [{"count": 3, "kind": "full", "heads": 2, "per_token": 128, "fixed": 0, "window": None}]
    assert any("could not be built" in caveat for caveat in plan["caveats"])
    state = served("state", python=str(broken), code=3)
    assert (state["fits"], state["sequences"]) == (None, None)
    assert "linear_attention" in state["why_not"]

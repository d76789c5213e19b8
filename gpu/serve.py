"""Generate loops: what weights and cache hold on a GPU, and what `oomph plan --serve` says of them.

    python3 gpu/serve.py measure --out serve.jsonl
    oomph run --phantom --gpu H200 gpu/serve.py measure --out serve.jsonl      the same without a GPU
    python3 gpu/serve.py compare serve.jsonl --oomph target/release/oomph

`measure` needs torch and transformers, and takes the loops of planned.py. Held is what is asked for at the end of a loop with
nothing left but the model and its cache, less what was before. `compare` writes a table of errors.
"""

from __future__ import annotations

import argparse
import gc
import json
import pathlib
import subprocess
import sys
import tempfile
from typing import Any

LLAMA = {"model_type": "llama", "hidden_size": 1024, "intermediate_size": 2816, "num_hidden_layers": 12, "num_attention_heads": 16,
         "num_key_value_heads": 8, "vocab_size": 32000}
QWEN = {"model_type": "qwen2", "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 12, "num_attention_heads": 14,
        "num_key_value_heads": 2, "vocab_size": 32000, "tie_word_embeddings": True}
CONFIGS: dict[str, dict[str, Any]] = {"gpt2": {"model_type": "gpt2"}, "opt": {"model_type": "opt"}, "llama": LLAMA, "qwen": QWEN}
# Model, dtype, sequences, tokens of the prompt, new tokens, cache.
LOOPS = [
    ("gpt2", "fp32", 8, 256, 64, "dynamic"),
    ("gpt2", "bf16", 16, 128, 128, "none"),
    ("gpt2", "bf16", 16, 256, 128, "hand"),
    ("llama", "bf16", 16, 512, 64, "dynamic"),
    ("llama", "bf16", 16, 512, 64, "static"),
    ("llama", "fp32", 8, 256, 64, "hand"),
    ("qwen", "bf16", 32, 256, 64, "dynamic"),
    ("qwen", "bf16", 8, 512, 64, "static"),
    ("opt", "fp32", 8, 256, 64, "dynamic"),
    ("opt", "bf16", 16, 512, 64, "hand"),
]


def configuration(name: str, folder: pathlib.Path) -> None:
    """Writes the whole configuration, as a model's folder has it."""
    import transformers

    words = dict(CONFIGS[name])
    config = transformers.AutoConfig.for_model(words.pop("model_type"), **words, max_position_embeddings=2048)
    config.save_pretrained(folder)


def requested(which: str = "current") -> int:
    import torch

    return int(torch.cuda.memory_stats().get(f"requested_bytes.all.{which}", 0))


def clear() -> None:
    """Gives back what nobody needs any more, and what matrix products work in."""
    import torch

    torch.compiler.reset()
    gc.collect()
    torch._C._cuda_clearCublasWorkspaces()


def measured(name: str, dtype: str, batch: int, length: int, new: int, cache: str) -> dict[str, Any]:
    """What one loop holds."""
    import torch
    import transformers

    with tempfile.TemporaryDirectory() as folder:
        configuration(name, pathlib.Path(folder))
        config = transformers.AutoConfig.from_pretrained(folder)
    torch.zeros(1, device="cuda")
    clear()
    torch.cuda.reset_peak_memory_stats()
    before = requested()
    kind = {"fp32": torch.float32, "bf16": torch.bfloat16}[dtype]
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=kind).cuda().eval()
    weights = requested() - before
    ids = torch.ones(batch, length, dtype=torch.long).cuda()
    kept: Any = None
    with torch.no_grad():
        if cache == "hand":
            for _ in range(new):
                out = model(input_ids=ids if kept is None else ids[:, -1:], past_key_values=kept, use_cache=True)
                kept = out.past_key_values
                ids = torch.cat([ids, out.logits[:, -1].argmax(-1, keepdim=True)], 1)
        else:
            words = {"static": {"cache_implementation": "static"}, "none": {"use_cache": False}}.get(cache, {})
            out = model.generate(ids, attention_mask=torch.ones_like(ids), max_new_tokens=new, min_new_tokens=new, do_sample=False,
                                 pad_token_id=0, return_dict_in_generate=True, **words)
            kept = out.past_key_values
    del out, ids
    clear()
    row = {"model": name, "dtype": dtype, "batch": batch, "length": length, "new": new, "cache": cache}
    row |= {"weights": weights, "held": requested() - before, "peak_requested": requested("peak") - before}
    return row


def foretold(oomph: str, row: dict[str, Any]) -> tuple[int, int]:
    """Weights, and weights with the cache, by the plan. The last token that is generated is computed with in no loop."""
    with tempfile.TemporaryDirectory() as folder:
        configuration(row["model"], pathlib.Path(folder))
        words = ["--dtype", row["dtype"], "--gpu", "H200", "--context", str(row["length"] + row["new"]), "--python", sys.executable]
        done = subprocess.run([oomph, "plan", "--json", "--serve", folder, *words], capture_output=True, text=True)
    plan = json.loads(done.stdout)
    tokens = 0 if row["cache"] == "none" else row["length"] + row["new"] - 1
    return plan["weights_bytes"], plan["weights_bytes"] + row["batch"] * tokens * plan["token_bytes"]


def compare(options: argparse.Namespace) -> None:
    print("| loop | weights | weights and cache | cache, MiB |\n| --- | ---: | ---: | ---: |")
    for line in options.results.read_text().splitlines():
        row = json.loads(line)
        weights, held = foretold(options.oomph, row)
        name = " ".join(str(row[key]) for key in ("model", "dtype", "batch", "length", "new", "cache"))
        off = [100 * (ours / real - 1) for ours, real in ((weights, row["weights"]), (held, row["held"]))]
        print(f"| {name} | {off[0]:+.3f}% | {off[1]:+.3f}% | {(held - weights) / 2**20:.1f} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    verbs = parser.add_subparsers(dest="verb", required=True)
    verbs.add_parser("measure").add_argument("--out", required=True)
    asked = verbs.add_parser("compare")
    asked.add_argument("results", type=pathlib.Path)
    asked.add_argument("--oomph", default="oomph")
    options = parser.parse_args()
    if options.verb == "compare":
        return compare(options)
    with open(options.out, "w") as out:
        for loop in LOOPS:
            print(json.dumps(measured(*loop)), file=out, flush=True)


if __name__ == "__main__":
    main()

"""A training script as people write them, for fit.py: it prints its losses, its peak and the time of a step.

    python3 fit_job.py --model gpt2 --batch 16 --accum 1 --length 512 --steps 12

The batch of an update is `batch * accum` samples, the same ones however it is cut.
"""

from __future__ import annotations

import argparse
import json
import time

import torch

parser = argparse.ArgumentParser()
parser.add_argument("--model", default="gpt2")
parser.add_argument("--batch", type=int, default=16)
parser.add_argument("--accum", type=int, default=1)
parser.add_argument("--length", type=int, default=256)
parser.add_argument("--opt", default="AdamW")
parser.add_argument("--dtype", default="float32")
parser.add_argument("--steps", type=int, default=12)
args = parser.parse_args()

TEXT = {
    "gpt2": ("GPT2LMHeadModel", "GPT2Config", dict(resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)),
    "llama": ("LlamaForCausalLM", "LlamaConfig", dict(hidden_size=1024, intermediate_size=2816, num_hidden_layers=16,
              num_attention_heads=16, num_key_value_heads=8, vocab_size=32000)),
    "qwen": ("Qwen2ForCausalLM", "Qwen2Config", dict(hidden_size=896, intermediate_size=4864, num_hidden_layers=24,
             num_attention_heads=14, num_key_value_heads=2, vocab_size=32000, tie_word_embeddings=True)),
    "bert": ("BertForMaskedLM", "BertConfig", dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)),
    "opt": ("OPTForCausalLM", "OPTConfig", dict(dropout=0.0)),
    "t5": ("T5ForConditionalGeneration", "T5Config", dict(dropout_rate=0.0, decoder_start_token_id=0)),
}


def built() -> tuple[torch.nn.Module, bool]:
    """The model, and whether it reads text."""
    if args.model in TEXT:
        import transformers

        model, config, options = TEXT[args.model]
        return getattr(transformers, model)(getattr(transformers, config)(**options)), True
    if args.model == "mlp":
        layers = [torch.nn.Sequential(torch.nn.Linear(4096, 4096), torch.nn.GELU()) for _ in range(16)]
        return torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(3 * 224 * 224, 4096), *layers), False
    import torchvision

    return torchvision.models.get_model(args.model, weights=None), False


torch.manual_seed(0)
model, reads_text = built()
model = model.cuda().train()
optimizer = getattr(torch.optim, args.opt)(model.parameters(), lr=1e-4)
autocast = torch.autocast("cuda", torch.bfloat16, enabled=args.dtype == "bfloat16")
whole = args.batch * args.accum
losses, began = [], 0.0
for step in range(args.steps):
    random = torch.Generator().manual_seed(step)
    if reads_text:
        x = torch.randint(5, 30000, (whole, args.length), generator=random)
    else:
        x, y = torch.randn(whole, 3, 224, 224, generator=random), torch.randint(0, 1000, (whole,), generator=random)
    total = 0.0
    for part in range(args.accum):
        here = slice(part * args.batch, (part + 1) * args.batch)
        with autocast:
            if reads_text:
                ids = x[here].cuda()
                loss = model(input_ids=ids, labels=ids).loss
            else:
                loss = torch.nn.functional.cross_entropy(model(x[here].cuda()), y[here].cuda())
        (loss / args.accum).backward()
        total = total + loss.detach() / args.accum
    optimizer.step()
    optimizer.zero_grad()
    losses.append(total)
    if step == 3:
        torch.cuda.synchronize()
        began = time.monotonic()
torch.cuda.synchronize()
step_ms = (time.monotonic() - began) * 1000 / max(1, args.steps - 4)
peak = torch.cuda.memory_stats()["reserved_bytes.all.peak"]
print(json.dumps({"losses": [float(loss) for loss in losses], "step_ms": step_ms, "peak_reserved": peak}))

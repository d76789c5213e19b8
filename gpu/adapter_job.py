"""Training with adapters, quantised weights or small optimizer states, by the packages that people use for them, for
planned.py.

    python3 adapter_job.py qlora --batch 8 --length 512

It needs transformers and what the kind needs: peft, bitsandbytes or torchao. Nothing here knows whether there is a GPU.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from typing import Any

import torch
import transformers
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("kind")
parser.add_argument("--batch", type=int, default=8)
parser.add_argument("--length", type=int, default=512)
parser.add_argument("--rank", type=int, default=16)
parser.add_argument("--steps", type=int, default=3)
parser.add_argument("--checkpointing", action="store_true")
parser.add_argument("--amp", action="store_true", help="weights of 32 bits under bf16 autocast, not weights of 16 bits")
args = parser.parse_args()

CONFIG = transformers.LlamaConfig(
    vocab_size=32000, hidden_size=1536, intermediate_size=4096, num_hidden_layers=16, num_attention_heads=12, num_key_value_heads=4
)


def fresh() -> Any:
    model = transformers.LlamaForCausalLM(CONFIG)
    return model if args.amp else model.to(torch.bfloat16)


def loaded(config: Any) -> Any:
    """The model as from_pretrained quantises it."""
    with tempfile.TemporaryDirectory() as folder:
        fresh().save_pretrained(folder)
        return transformers.AutoModelForCausalLM.from_pretrained(
            folder, quantization_config=config, device_map={"": 0}, dtype=torch.bfloat16
        )


def peft_model(model: Any, config: Any) -> Any:
    from peft import get_peft_model

    return get_peft_model(model, config)


def with_lora(model: Any, **options: Any) -> Any:
    from peft import LoraConfig

    config = LoraConfig(r=args.rank, lora_alpha=32, lora_dropout=0.05, target_modules="all-linear", task_type="CAUSAL_LM", **options)
    return peft_model(model, config)


def lora() -> Any:
    return with_lora(fresh().cuda())


def dora() -> Any:
    return with_lora(fresh().cuda(), use_dora=True)


def ia3() -> Any:
    from peft import IA3Config

    config = IA3Config(target_modules=["k_proj", "v_proj", "down_proj"], feedforward_modules=["down_proj"], task_type="CAUSAL_LM")
    return peft_model(fresh().cuda(), config)


def prompt() -> Any:
    from peft import PromptTuningConfig

    return peft_model(fresh().cuda(), PromptTuningConfig(num_virtual_tokens=20, task_type="CAUSAL_LM"))


def qlora() -> Any:
    from peft import prepare_model_for_kbit_training

    model = loaded(
        transformers.BitsAndBytesConfig(
            load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_use_double_quant=True, bnb_4bit_compute_dtype=torch.bfloat16
        )
    )
    return with_lora(prepare_model_for_kbit_training(model, use_gradient_checkpointing=args.checkpointing))


def int8() -> Any:
    from peft import prepare_model_for_kbit_training

    model = loaded(transformers.BitsAndBytesConfig(load_in_8bit=True))
    return with_lora(prepare_model_for_kbit_training(model, use_gradient_checkpointing=args.checkpointing))


def whole() -> Any:
    return fresh().cuda()


def float8() -> Any:
    from torchao.float8 import convert_to_float8_training

    model = fresh().cuda()
    convert_to_float8_training(model, module_filter_fn=lambda module, name: isinstance(module, nn.Linear) and name != "lm_head")
    return model


def quantized() -> Any:
    """Weights of 8 bits by torchao, a LoRA beside them."""
    from torchao.quantization import Int8WeightOnlyConfig, quantize_

    model = fresh().cuda()
    quantize_(model, Int8WeightOnlyConfig(), filter_fn=lambda module, name: isinstance(module, nn.Linear) and name != "lm_head")
    return with_lora(model)


def adamw(parameters: Any) -> Any:
    return torch.optim.AdamW(parameters, lr=1e-4)


def paged_8bit(parameters: Any) -> Any:
    import bitsandbytes

    return bitsandbytes.optim.PagedAdamW8bit(parameters, lr=1e-4)


def adam_8bit(parameters: Any) -> Any:
    import bitsandbytes

    return bitsandbytes.optim.AdamW8bit(parameters, lr=1e-4)


def paged(parameters: Any) -> Any:
    import bitsandbytes

    return bitsandbytes.optim.PagedAdamW(parameters, lr=1e-4)


def ao_8bit(parameters: Any) -> Any:
    from torchao.optim import AdamW8bit

    return AdamW8bit(parameters, lr=1e-4)


KINDS: dict[str, tuple[Callable[[], Any], Callable[[Any], Any]]] = {
    "lora": (lora, adamw),
    "dora": (dora, adamw),
    "ia3": (ia3, adamw),
    "prompt": (prompt, adamw),
    "qlora": (qlora, paged_8bit),
    "int8": (int8, adamw),
    "adam8bit": (whole, adam_8bit),
    "paged": (whole, paged),
    "ao-adam8bit": (whole, ao_8bit),
    "ao-float8": (float8, adamw),
    "ao-int8": (quantized, adamw),
}


def main() -> None:
    torch.manual_seed(0)
    build, optimizer_of = KINDS[args.kind]
    model = build().train()
    if args.checkpointing and args.kind not in ("qlora", "int8"):
        model.gradient_checkpointing_enable()
        model.enable_input_require_grads()
    model.config.use_cache = False
    optimizer = optimizer_of([parameter for parameter in model.parameters() if parameter.requires_grad])
    for step in range(args.steps):
        ids = torch.randint(5, 30000, (args.batch, args.length), generator=torch.Generator().manual_seed(step)).cuda()
        with torch.autocast("cuda", torch.bfloat16, enabled=args.amp):
            loss = model(input_ids=ids, labels=ids).loss
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    torch.cuda.synchronize()


main()

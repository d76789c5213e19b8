"""What is only planned with: the state of bitsandbytes' optimizers and LoRA as peft has it, each number by number.

Beside the packages themselves, on the phantom GPU: a Llama, a T5 and mixed precision, with checkpointing and without, need the
same number of bytes with the stand-in as with bitsandbytes 0.50 and peft 0.21.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType

import pytest

STATE = """
import torch
from oomph._measures.eight_bit import keep_state_in_8_bits
remarks = []
keep_state_in_8_bits(torch, remarks)
large = torch.nn.Parameter(torch.zeros(1000, 1001))
small = torch.nn.Parameter(torch.zeros(4095))
unused = torch.nn.Parameter(torch.zeros(5000))
for make in (torch.optim.AdamW, torch.optim.RMSprop, lambda each: torch.optim.SGD(each, 0.1, momentum=0.9)):
    optimizer = make([large, small, unused])
    for _ in range(2):
        (large.sum() + small.sum()).backward()
        optimizer.step()
        optimizer.zero_grad()
    print(type(optimizer).__name__, isinstance(optimizer, torch.optim.Optimizer), unused in optimizer.state)
    for parameter in (large, small):
        state = optimizer.state[parameter]
        print(" ".join(f"{name}={tuple(value.shape)}{str(value.dtype)[6:]}" for name, value in state.items() if name != "step"))
    shared = {id(optimizer.state[large][name]) for name in optimizer.state[large] if name.startswith("qmap")}
    print(len(shared), float(large.detach().sum()))
torch.optim.SGD([large], 0.1)
torch.optim.Adadelta([large])
print(remarks)
"""


def test_moments_are_of_8_bits_with_a_scale_for_each_256(run_warm_python: Callable[..., str], torch: ModuleType) -> None:
    blocks = -(-1000 * 1001 // 256)
    one = f"state1=(1000, 1001)uint8 qmap1=(256,)float32 absmax1=({blocks},)float32"
    two = (
        f"state1=(1000, 1001)uint8 state2=(1000, 1001)uint8 qmap1=(256,)float32 absmax1=({blocks},)float32 "
        f"qmap2=(256,)float32 absmax2=({blocks},)float32"
    )
    assert run_warm_python(STATE).splitlines() == [
        "AdamW True False",
        two,
        "state1=(4095,)float32 state2=(4095,)float32",
        "2 0.0",
        "RMSprop True False",
        one,
        "state1=(4095,)float32",
        "1 0.0",
        "SGD True False",
        one,
        "state1=(4095,)float32",
        "1 0.0",
        "['not changed: the optimizer keeps nothing for each parameter', 'not changed: bitsandbytes has no such optimizer']",
    ]


ADAPTED = """
import torch
from oomph._measures import Measures
from oomph._recorder import imports
measures = Measures({"adapters": 4})
measures.at_torch(torch)
imports.watch({}, measures.watched())
import transformers
config = transformers.LlamaConfig(hidden_size=64, intermediate_size=96, num_hidden_layers=2, num_attention_heads=4, vocab_size=100)
model = transformers.LlamaForCausalLM(config).to(torch.bfloat16)
weights = {name: value.dtype for name, value in model.named_parameters()}
groups = [{"params": [each for name, each in model.named_parameters() if "norm" not in name], "weight_decay": 0.1},
          {"params": [each for name, each in model.named_parameters() if "norm" in name], "weight_decay": 0.0}]
optimizer = torch.optim.AdamW(groups)
trained = {name: value for name, value in model.named_parameters() if value.requires_grad}
print(len(trained), sum(value.numel() for value in trained.values()), {str(value.dtype) for value in trained.values()})
print([len(group["params"]) for group in optimizer.param_groups], any("lm_head" in name for name in trained))
ids = torch.arange(20).view(2, 10)
model(input_ids=ids, labels=ids).loss.backward()
optimizer.step()
print(all(value.grad is not None for value in trained.values()))
print(all(model.get_parameter(name).grad is None and model.get_parameter(name).dtype == kind for name, kind in weights.items()))
plain = torch.nn.Sequential(torch.nn.Linear(3, 3))
print(len(torch.optim.SGD(plain.parameters(), 0.1).param_groups[0]["params"]), measures.notes()["remarks"])
"""


def test_lora_is_beside_every_linear_layer_but_the_head(run_warm_python: Callable[..., str], torch: ModuleType) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed here")
    # Four matrices of attention and three of the network behind it, in each of two layers: rank 4 times both lengths.
    numbers = 2 * 4 * (4 * (64 + 64) + 3 * (64 + 96))
    assert run_warm_python(ADAPTED).splitlines() == [
        f"28 {numbers} {{'torch.float32'}}",
        "[28, 0] False",
        "True",
        "True",
        "2 []",
    ]

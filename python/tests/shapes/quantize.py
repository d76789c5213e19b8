"""torchao: weights of 8 or 4 bits, or float8, for a model that is then asked."""

import sys

import torch
from torch import nn
from torchao.quantization import (
    Float8DynamicActivationFloat8WeightConfig,
    Float8WeightOnlyConfig,
    Int4WeightOnlyConfig,
    Int8DynamicActivationInt8WeightConfig,
    Int8WeightOnlyConfig,
    quantize_,
)

kind = sys.argv[1] if len(sys.argv) > 1 else "int8"
model = nn.Sequential(*[nn.Sequential(nn.Linear(1024, 4096), nn.GELU(), nn.Linear(4096, 1024)) for _ in range(4)])
model = model.to(device="cuda", dtype=torch.bfloat16).eval()
before = torch.cuda.memory_allocated()
config = {
    "int8": Int8WeightOnlyConfig,
    "int4": Int4WeightOnlyConfig,
    "int8dynamic": Int8DynamicActivationInt8WeightConfig,
    "float8": Float8WeightOnlyConfig,
    "float8dynamic": Float8DynamicActivationFloat8WeightConfig,
}[kind]()
quantize_(model, config)
torch.cuda.reset_peak_memory_stats()
print("weights", before, "->", torch.cuda.memory_allocated())
with torch.no_grad():
    for step in range(3):
        y = model(torch.randn(16, 1024, device="cuda", dtype=torch.bfloat16))
print(y.shape, torch.cuda.max_memory_allocated())

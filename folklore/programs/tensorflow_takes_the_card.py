"""
Claim: TensorFlow takes the whole card, so it leaks.
Ruling: false
Why: At its start TensorFlow takes nearly all of a card as one stock and serves every request from it, so nvidia-smi
    shows the stock. `tf.config.experimental.get_memory_info` tells what is in use; only if that grows, something
    leaks. (Here TensorFlow's allocator for cards works on host memory, where it takes its stock as it is needed.)
Topic: TensorFlow and JAX
"""

import json
import os

os.environ.update(TF_CPU_ALLOCATOR_USE_BFC="true", TF_CPU_BFC_MEM_LIMIT_IN_MB="512")

import tensorflow as tf

MIB = 2**20


def in_use() -> float:
    return round(tf.config.experimental.get_memory_info("CPU:0")["current"] / MIB, 1)


def taken_by_process() -> float:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096 / MIB


before = taken_by_process()
for _ in range(10):
    x = tf.zeros([64, MIB // 4])
    with_x = in_use()
    del x
after = in_use()
stock = taken_by_process() - before

kept = []
try:
    for _ in range(10):
        kept.append(tf.zeros([64, MIB // 4]))
except tf.errors.ResourceExhaustedError:
    leaked = in_use()

assert (with_x, after) == (64, 0), "ten tensors, one after the other: nothing is left in use"
assert stock > 60, "the process holds the stock all the same"
assert leaked >= 64 * len(kept) >= 128, "a leak is what is in use, and grows"
print(json.dumps({
    "limit": 512,
    "in use with a tensor of 64 MiB": with_x,
    "in use after ten of them, each dropped": after,
    "memory that the process holds then": "more than 60 MiB",
    "in use when tensors are kept, and it fails": leaked,
}))

"""
Claim: `set_memory_growth` makes TensorFlow use less memory.
Ruling: false
Why: It takes memory from the card when it is needed instead of at the start, which is good for those who share the
    card. The job needs the same. And what is taken piece by piece does not join again: a large request can fail that
    would fit into one stock. (Measured with TensorFlow's allocator for cards, growing, on host memory.)
Topic: TensorFlow and JAX
"""

import json
import multiprocessing
import os
from collections.abc import Callable

os.environ.update(TF_CPU_ALLOCATOR_USE_BFC="true", TF_CPU_BFC_MEM_LIMIT_IN_MB="256")

import tensorflow as tf

MIB = 2**20


def take(sizes: list[int], together: bool) -> str:
    """Tensors of these sizes, kept together or each dropped before the next."""
    kept = []
    try:
        for size in sizes:
            kept.append(tf.zeros([size, MIB // 4]))
            if not together:
                kept.clear()
    except tf.errors.ResourceExhaustedError:
        return "out of memory"
    return "fits"


def small_then_large() -> str:
    """Eight tensors of 16 MiB at once, all dropped; then one of 128 MiB."""
    assert take([16] * 8, together=True) == "fits"
    return take([128], together=False)


def alone(job: Callable[..., str], *arguments: object) -> str:
    """Runs it in a process of its own, that has taken nothing yet."""
    with multiprocessing.get_context("fork").Pool(1) as pool:
        return pool.apply(job, arguments)


too_much = alone(take, [100] * 3, True)
large = alone(take, [128], False)
after_small = alone(small_then_large)

assert too_much == "out of memory", "300 MiB do not fit into 256, growing or not"
assert large == "fits", "128 MiB fit into 256"
assert after_small == "out of memory", "but not after small ones, although nothing is in use any more"
print(json.dumps({
    "limit": 256,
    "3 tensors of 100 MiB": too_much,
    "1 tensor of 128 MiB": large,
    "the same after 8 of 16 MiB, all dropped": after_small,
}))

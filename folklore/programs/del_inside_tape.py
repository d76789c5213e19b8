"""
Claim: Deleting intermediate tensors inside `tf.GradientTape` frees memory.
Ruling: false
Why: The tape keeps what it needs for gradients, whatever happens to your names; it lets go when `gradient` has been
    called, unless it is persistent. Compute what needs no gradient outside, or under `tape.stop_recording()`.
Topic: TensorFlow and JAX
"""

import json
import os

os.environ.update(TF_CPU_ALLOCATOR_USE_BFC="true", TF_CPU_BFC_MEM_LIMIT_IN_MB="1024")

import tensorflow as tf

MIB = 2**20


def in_use() -> float:
    return round(tf.config.experimental.get_memory_info("CPU:0")["current"] / MIB, 1)


x = tf.Variable(tf.ones([16, MIB // 4]))
base = in_use()

y = tf.exp(x)
del y
outside = in_use() - base

with tf.GradientTape() as tape:
    y = tf.exp(x)
    loss = tf.reduce_sum(y)
    del y
    inside = in_use() - base
    with tape.stop_recording():
        z = tf.exp(x)
        del z
    stopped = in_use() - base
gradient = tape.gradient(loss, x)
del gradient
after_gradient = in_use() - base

assert outside == 0, "without a tape the name was all"
assert inside == 16, "with one it is not"
assert stopped == inside, "what is not recorded goes with its name"
assert after_gradient == 0, "gradient() lets go of the rest"
print(json.dumps({
    "in use after `del y`, no tape": outside,
    "in use after `del y` inside the tape": inside,
    "another one, made under `stop_recording()` and deleted, adds": stopped - inside,
    "after `tape.gradient(...)`": after_gradient,
}))

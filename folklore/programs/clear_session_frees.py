"""
Claim: `keras.backend.clear_session()` frees the memory of the model.
Ruling: false
Why: It resets names and counters of Keras. A model that has a name stays; one that was trained stays even without,
    kept by its compiled training function. To be sure, train every model in a process of its own.
Topic: TensorFlow and JAX
"""

import gc
import json
import os

os.environ.update(TF_CPU_ALLOCATOR_USE_BFC="true", TF_CPU_BFC_MEM_LIMIT_IN_MB="1024")

import keras
import tensorflow as tf

MIB = 2**20


def in_use() -> float:
    return round(tf.config.experimental.get_memory_info("CPU:0")["current"] / MIB, 1)


def build(eager: bool = False) -> keras.Model:
    model = keras.Sequential([keras.Input((1024,)), keras.layers.Dense(1024), keras.layers.Dense(1024)])
    model.compile("sgd", "mse", run_eagerly=eager)
    return model


def train_and_drop(clears: bool, eager: bool = False) -> float:
    """What one more model, trained and dropped, leaves in use."""
    before = in_use()
    model = build(eager)
    model.train_on_batch(tf.ones([8, 1024]), tf.ones([8, 1024]))
    del model
    if clears:
        keras.backend.clear_session()
    gc.collect()
    return in_use() - before


model = build()
size = in_use()
keras.backend.clear_session()
gc.collect()
named = in_use()
del model
gc.collect()
dropped = in_use()
train_and_drop(True)  # what TensorFlow makes once
trained, trained_and_cleared = train_and_drop(False), train_and_drop(True)
trained_eagerly = train_and_drop(False, eager=True)

assert size >= 8 and named == size, "a model with a name stays"
assert dropped == 0, "never trained: gone with its name, and without clear_session"
assert trained_and_cleared >= trained >= 8, "trained: clear_session does not free it"
assert trained_eagerly == 0, "trained without a compiled function: gone with its name"
print(json.dumps({
    "in use by a model": size,
    "after `clear_session()`, the model has a name": named,
    "after `del model` and `gc.collect()`": dropped,
    "left by a trained model that was dropped": trained,
    "left by another, with `clear_session()`": trained_and_cleared,
    "left by one trained with `run_eagerly=True`": trained_eagerly,
}))

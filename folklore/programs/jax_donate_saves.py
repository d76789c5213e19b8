"""
Claim: `donate_argnums` saves memory in JAX.
Ruling: true when an output has the shape and type of what is given away
Why: The result is then written over the argument: a training step needs its weights and optimizer state once instead
    of twice. An argument that fits no output is not used again. The donated array can no longer be read.
Topic: TensorFlow and JAX
"""

import json
from collections.abc import Callable

import jax
import jax.numpy as jnp

MIB = 2**20
SHAPE = jax.ShapeDtypeStruct((16 * MIB,), jnp.float32)


def needed(function: Callable[[jax.Array], jax.Array], **options: int) -> float:
    """Arguments, results and temporary memory of the compiled function, less what is shared."""
    memory = jax.jit(function, **options).lower(SHAPE).compile().memory_analysis()
    used = memory.argument_size_in_bytes + memory.output_size_in_bytes + memory.temp_size_in_bytes
    return (used - memory.alias_size_in_bytes) / MIB


def step(x: jax.Array) -> jax.Array:
    return jnp.tanh(x)


def halves(x: jax.Array) -> jax.Array:
    return x.astype(jnp.float16)


kept, donated = needed(step), needed(step, donate_argnums=0)
halves_kept, halves_donated = needed(halves), needed(halves, donate_argnums=0)
x = jnp.ones(4)
jax.jit(step, donate_argnums=0)(x)

assert (kept, donated) == (128, 64), "same shape and type: one array instead of two"
assert halves_donated == halves_kept, "another type: nothing saved"
assert x.is_deleted()
print(json.dumps({
    "a step on 64 MiB": kept,
    "a step on 64 MiB, donated": donated,
    "to half precision": halves_kept,
    "to half precision, donated": halves_donated,
}))

"""
Claim: In JAX, too, data from NumPy takes twice the memory.
Ruling: false
Why: JAX turns float64 into float32 unless `jax_enable_x64` is on, in which case it is true. The NumPy array itself
    stays in host memory with its 8 bytes a number.
Topic: TensorFlow and JAX
"""

import json

import jax
import numpy

MIB = 2**20

data = numpy.linspace(0, 1, MIB)
default = jax.device_put(data)
with jax.enable_x64(True):
    wide = jax.device_put(data)

assert data.nbytes == 8 * MIB
assert default.nbytes == 4 * MIB, "float32, without being asked"
assert wide.nbytes == 8 * MIB, "only where it was switched on"
print(json.dumps({
    "a million numbers in NumPy": data.nbytes / MIB,
    "in JAX": default.nbytes / MIB,
    "in JAX with `jax_enable_x64`": wide.nbytes / MIB,
}))

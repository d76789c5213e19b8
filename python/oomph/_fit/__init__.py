"""What `oomph.fit` is made of, in reading order.

- `failures`: what counts as running out of memory, and how its leavings are dropped
- `batch`, `outputs`: a batch is cut into parts, what the parts give is joined again
- `randomness`, `buffers`, `gradients`, `before`: everything as it was before the step
- `running`, `patches`: what the step may do while it runs, and what is done to its `backward()`
- `counts`, `measure`: what the loss averages over
- `sizes`: what fitted so far
- `modules`: the modules that the step uses
- `runner`: the attempts of one step
- `clipping`, `optimizer`: the two calls after the step that need memory too
- `ranks`: several processes that train one model
- `hugging_face`, `lightning`, `keras`: for those who do not write the loop themselves
"""

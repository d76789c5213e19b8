"""The parts of `oomph.checkpoint`.

In reading order: what is said (`say`), when a checkpoint is due (`every`), state as plain values and tensors (`tree`), its
copy in host memory (`copies`), the calls that reach the disk (`disk`), one file (`file`), the folder of them (`folder`), the
thread that writes (`writer`), random numbers (`randoms`), what is saved and loaded (`objects`), the place in the data
(`data`, `loaders`), several processes (`ranks`), what `oomph run` is told (`run`).
"""

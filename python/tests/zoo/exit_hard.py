"""os._exit with output that was not flushed, and an atexit handler that must not run."""
import atexit
import os

atexit.register(print, "not seen")
print("flushed", flush=True)
print("not flushed")
os._exit(4)

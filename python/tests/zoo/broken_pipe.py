"""Writes to a pipe that nobody reads any more, as `| head` does it."""
import os
import signal
import sys

print(signal.getsignal(signal.SIGPIPE).name)
sys.stdout.flush()
read, write = os.pipe()
os.close(read)
os.dup2(write, 1)
print("x" * 100_000)

"""Redirects file descriptors 1 and 2 to files, and back; the files are read at the end."""
import os
import sys

kept = os.dup(1), os.dup(2)
for number in (1, 2):
    file = os.open(f"stream{number}.txt", os.O_CREAT | os.O_WRONLY)
    os.dup2(file, number)
    os.close(file)
print("to one", flush=True)
print("to two", file=sys.stderr, flush=True)
os.dup2(kept[0], 1)
os.dup2(kept[1], 2)
print(open("stream1.txt").read(), open("stream2.txt").read())

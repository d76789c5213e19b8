"""Forks a tree of children that all exit normally, with atexit handlers of their own."""
import atexit
import os

atexit.register(lambda: os.write(1, b"bye\n"))
for depth in range(3):
    child = os.fork()
    if child == 0:
        continue
    os.waitpid(child, 0)
    break

"""Leads its own session and process group, has a terminal of its own, and ends with a child in the background."""
import os
import pty
import sys

sys.stdout.flush()
pid, terminal = pty.fork()
if pid == 0:
    print(os.isatty(0), os.getpid() == os.getsid(0) == os.getpgrp())
    sys.exit(0)
text = b""
try:
    while piece := os.read(terminal, 1000):
        text += piece
except OSError:
    pass
print(text, os.waitpid(pid, 0)[1])

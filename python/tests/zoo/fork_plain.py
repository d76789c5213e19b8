"""Forks with os.fork; the child ends with sys.exit, the parent waits."""
import os
import sys

sys.stdout.flush()
child = os.fork()
if child == 0:
    print("child", flush=True)
    sys.exit(7)
print("child ended with", os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))

"""Clears its environment and starts a Python without one."""
import os
import subprocess
import sys

os.environ.clear()
print(subprocess.run([sys.executable, "-c", "print('runs')"], capture_output=True, text=True))

"""Ignores SIGTERM and SIGINT and gets them from a child and from its own group of one."""
import os
import signal
import subprocess
import sys

os.setpgid(0, 0)
signal.signal(signal.SIGTERM, signal.SIG_IGN)
signal.signal(signal.SIGINT, signal.SIG_IGN)
os.killpg(0, signal.SIGTERM)
os.kill(os.getpid(), signal.SIGINT)
code = "import signal; print(signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGINT))"
print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)

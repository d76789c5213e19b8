"""A Python with faulthandler dumps a traceback at SIGUSR2 and dies of SIGSEGV."""
import re
import resource
import subprocess
import sys

resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
code = """
import faulthandler, os, signal
faulthandler.register(signal.SIGUSR2)
os.kill(os.getpid(), signal.SIGUSR2)
os.kill(os.getpid(), signal.SIGSEGV)
"""
done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True)
print(done.returncode, done.stdout, re.sub("0x[0-9a-f]+", "0x", done.stderr))

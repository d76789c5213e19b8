"""Starts Python with closed standard streams."""
import subprocess
import sys

for closing in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
    done = subprocess.run(["sh", "-c", f"{sys.executable} -c 'print(1)' {closing}"], capture_output=True, text=True)
    print(closing, done.returncode, done.stdout, done.stderr)

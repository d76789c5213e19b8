"""Starts Python with no environment at all, and with one that has only the run's folder cleared."""
import os
import subprocess
import sys

code = "import os; print(sorted(name for name in os.environ if not name.startswith('LC_')))"
print(subprocess.run([sys.executable, "-c", code], env={}, capture_output=True, text=True).stdout)
kept = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "OOMPH_PARENT")}
done = subprocess.run([sys.executable, "-c", "print('runs')"], env=kept, capture_output=True, text=True)
print(done.stdout, done.stderr, done.returncode)

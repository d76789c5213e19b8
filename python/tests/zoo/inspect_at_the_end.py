"""python -i after a script that fails: the state is there to look at."""
import pathlib
import subprocess
import sys

pathlib.Path("fails.py").write_text("x = 3\nraise ValueError(x)\n")
done = subprocess.run([sys.executable, "-i", "fails.py"], input="print(x)\n", capture_output=True, text=True)
print(done.returncode, done.stdout, done.stderr)

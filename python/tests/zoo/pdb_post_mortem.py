"""python -m pdb runs a script that fails; the debugger looks at the traceback and quits."""
import pathlib
import subprocess
import sys

pathlib.Path("fails.py").write_text("def f(x):\n    return 1 / x\nf(0)\n")
done = subprocess.run(
    [sys.executable, "-m", "pdb", "fails.py"], input="c\nw\np x\nq\nq\n", capture_output=True, text=True
)
print(done.returncode, done.stdout, done.stderr)

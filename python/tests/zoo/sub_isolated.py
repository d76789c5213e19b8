"""Starts other Pythons: -I, -S, -E, -P, -OO, -bb, -X dev with warnings as errors."""
import subprocess
import sys

for options in (["-I"], ["-S"], ["-E"], ["-P"], ["-OO"], ["-bb"], ["-X", "dev", "-W", "error"], ["-sSE"]):
    code = "import sys; print(sys.flags.isolated, sys.flags.optimize, sys.argv, __debug__)"
    done = subprocess.run([sys.executable, *options, "-c", code, "x"], capture_output=True, text=True)
    print(options, done.returncode, done.stdout, done.stderr)

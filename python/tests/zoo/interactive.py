"""An interactive Python that is fed with lines, one of which is wrong, and code.interact."""
import subprocess
import sys

lines = "x = 5\nx * 2\n1 / 0\nimport code\ncode.interact(banner='in', exitmsg='out')\nx = 7\n"
done = subprocess.run([sys.executable, "-i", "-q"], input=lines, capture_output=True, text=True)
print(done.returncode, done.stdout, done.stderr)

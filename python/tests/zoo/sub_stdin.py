"""Python reads its program from a pipe, and another runs a shell's words in a pipeline."""
import subprocess
import sys

print(subprocess.run([sys.executable, "-"], input="print(1 + 1)\n", capture_output=True, text=True).stdout)
line = f"{sys.executable} -c 'print(3)' | cat; exit 5"
done = subprocess.run(line, shell=True, capture_output=True, text=True)
print(done.stdout, done.returncode)

"""Starts Pythons under the C locale with and without UTF-8, with odd words."""
import os
import subprocess
import sys

for extra in ({"LC_ALL": "C"}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}, {"PYTHONIOENCODING": "ascii"}):
    code = "import sys; print(sys.stdout.encoding, ascii(sys.argv[1:]), sys.getfilesystemencoding())"
    done = subprocess.run([sys.executable, "-c", code, "ä", b"\xff"], env={**os.environ, **extra}, capture_output=True)
    print(done)

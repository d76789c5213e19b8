"""A sitecustomize of its own in front of PYTHONPATH, one that fails, and a .pth folder."""
import os
import pathlib
import subprocess
import sys

for name, text in (("good", "print('customized')"), ("bad", "raise ValueError('bad')")):
    folder = pathlib.Path(name)
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(text + "\n")
    path = os.pathsep.join(filter(None, [str(folder.resolve()), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", "print('main')"], env=environment, capture_output=True, text=True)
    print(name, done.returncode, done.stdout, done.stderr)
    path = os.pathsep.join(filter(None, [os.environ.get("PYTHONPATH"), str(folder.resolve())]))
    environment = {**os.environ, "PYTHONPATH": path}
    done = subprocess.run([sys.executable, "-c", "print('main')"], env=environment, capture_output=True, text=True)
    print(name, done.returncode, done.stdout, done.stderr.replace(str(folder.resolve()), "HERE").splitlines()[-1:])

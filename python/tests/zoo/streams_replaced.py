"""Replaces sys.stdout and sys.stderr by None, by objects that raise, and by a file."""
import sys


class Raises:
    def write(self, text):
        raise OSError("no writing")

    flush = write


for instead in (None, Raises(), 5):
    sys.stdout = sys.stderr = instead
    try:
        print("lost")
    except Exception as error:
        sys.__stdout__.write(f"{type(error).__name__}\n")
sys.stdout = open("out.txt", "w")
print("kept")
sys.stderr = None

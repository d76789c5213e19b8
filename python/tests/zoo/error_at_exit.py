"""An exception in an atexit handler, one that exits, and the order of the others."""
import atexit
import sys


class Fails:
    def __call__(self):
        raise ValueError("at exit")

    def __repr__(self):
        return "Fails"


class Exits(Fails):
    def __call__(self):
        sys.exit(3)


atexit.register(print, "last")
atexit.register(Fails())
atexit.register(Exits())
atexit.register(print, "first")

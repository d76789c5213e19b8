"""sys.excepthook is replaced by one that raises itself."""
import sys


def hook(kind, error, trace):
    raise ValueError("in the hook")


sys.excepthook = hook
raise LookupError("lost")

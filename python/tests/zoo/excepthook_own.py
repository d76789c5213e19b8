"""sys.excepthook is replaced; the exception that nobody catches is printed by it."""
import sys


def hook(kind, error, trace):
    print("hook:", kind.__name__, error, trace.tb_lineno)


sys.excepthook = hook
raise LookupError("lost")

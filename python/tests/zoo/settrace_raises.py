"""A tracer that raises: Python switches it off and the exception comes out."""
import sys


def trace(frame, event, argument):
    raise KeyError(frame.f_code.co_name)


def work():
    return 1


sys.settrace(trace)
try:
    work()
except KeyError as error:
    print("raised", error, sys.gettrace())

"""A profiler that prints every Python function that is called, until its last atexit handler."""
import atexit
import os
import sys


def profile(frame, event, argument):
    if event == "call":
        os.write(1, f"{frame.f_code.co_name}\n".encode())


def work():
    return 1


atexit.register(sys.setprofile, None)
sys.setprofile(profile)
work()

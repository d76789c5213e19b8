"""A profiler that prints every Python function that is called, and is never switched off."""
# differs: it sees the recorder write the recording at the end
import os
import sys


def profile(frame, event, argument):
    if event == "call":
        os.write(1, f"{frame.f_code.co_name}\n".encode())


sys.setprofile(profile)

"""json, pickle, time and os functions are replaced by ones that raise; they stay so until the end."""
import json
import os
import pickle
import time


def raises(*args, **kwargs):
    raise RuntimeError("not to be called")


json.dumps = json.loads = json.dump = pickle.dump = pickle.dumps = raises
time.time = time.time_ns = time.monotonic = raises
os.replace = os.unlink = os.open = raises
print("patched")

"""json.dumps, pickle.dump, os.getpid, os.fsync and time.time_ns are replaced by ones that print."""
import json
import os
import pickle
import time


def noisy(module, name):
    original = getattr(module, name)

    def call(*args, **kwargs):
        os.write(1, f"{name}\n".encode())
        return original(*args, **kwargs)

    setattr(module, name, call)


for module, name in ((json, "dumps"), (pickle, "dump"), (os, "getpid"), (os, "fsync"), (time, "time_ns")):
    noisy(module, name)
json.dumps(1)

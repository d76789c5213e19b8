"""Records its own history for a while, dumps it, and counts the events in it."""
# gpu: yes
# differs: events from before its own history are in the first dump as well: oomph had recorded them
import os
import pickle

import torch

before = [torch.ones(1 << 20, device="cuda") for _ in range(3)]
torch.cuda.memory._record_memory_history(max_entries=100)
during = torch.ones(1 << 20, device="cuda")
torch.cuda.memory._dump_snapshot("own.pickle")
torch.cuda.memory._record_memory_history(enabled=None)
with open("own.pickle", "rb") as file:
    snapshot = pickle.load(file)
print([(event["action"], event["size"]) for event in snapshot["device_traces"][0]])
os.unlink("own.pickle")

"""Asks for a snapshot although it never asked for a history: there is none."""
# gpu: yes
# differs: the events that oomph records are in the program's own snapshots as well
import torch

x = torch.ones(1 << 20, device="cuda")
snapshot = torch.cuda.memory._snapshot()
print([len(events) for events in snapshot["device_traces"]])

"""Imports torch and uses no GPU, in inference mode, with a default device that is set and reset."""
import torch

torch.set_default_device("cpu")
with torch.inference_mode():
    print((torch.ones(4) * 2).sum().item(), torch.cuda.is_initialized())
torch.use_deterministic_algorithms(True)
print(torch.get_num_threads() > 0, torch.nn.Linear(2, 2).train(False).training)

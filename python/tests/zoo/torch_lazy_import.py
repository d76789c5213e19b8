"""torch is looked up first, then loaded by importlib.util.LazyLoader when it is first touched."""
# gpu: yes
import importlib.util
import sys

print(importlib.util.find_spec("torch").name, "torch" in sys.modules)
spec = importlib.util.find_spec("torch")
spec.loader = importlib.util.LazyLoader(spec.loader)
torch = importlib.util.module_from_spec(spec)
sys.modules["torch"] = torch
spec.loader.exec_module(torch)
print(torch.ones(1024, device="cuda").shape, type(torch.__spec__.loader).__name__)

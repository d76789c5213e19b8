"""Another Python trains, started with a shell; this one only waits."""
# gpu: yes
import subprocess
import sys

code = "import torch; x = torch.ones(1 << 20, device='cuda'); print(torch.cuda.memory_allocated())"
done = subprocess.run(f'exec {sys.executable} -c "{code}"', shell=True, capture_output=True, text=True)
print(done)

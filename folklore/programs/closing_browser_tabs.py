"""
Claim: Closing browser tabs gives the GPU more memory.
Ruling: false
Why: A tab only shows a notebook. The tensors belong to the kernel, another process, which goes on without the tab:
    shut the kernel down (Colab: Runtime, Manage sessions). A browser that draws with the same card, on a desktop,
    holds some of it; that is not measured here.
Topic: Letting go
"""

import json

from jupyter_client.manager import KernelManager

CELL = """
import torch
if "x" not in globals():
    x = torch.ones(64, 2**18, device="cuda")
torch.cuda.memory_allocated() // 2**20
"""


def in_kernel(manager: KernelManager) -> float:
    """Opens a tab, runs the cell in it and closes it; gives what the kernel answered."""
    tab = manager.blocking_client()
    tab.start_channels()
    tab.wait_for_ready(timeout=120)
    tab.execute(CELL)
    while True:
        message = tab.get_iopub_msg(timeout=120)
        assert message["msg_type"] != "error", message["content"]
        if message["msg_type"] == "execute_result":
            tab.stop_channels()
            return float(message["content"]["data"]["text/plain"])


manager = KernelManager(kernel_name="python3")
manager.start_kernel()
try:
    first_tab = in_kernel(manager)
    second_tab = in_kernel(manager)
finally:
    manager.shutdown_kernel(now=True)

assert first_tab == second_tab == 64, "the tensor of the first tab outlived it"
assert not manager.is_alive(), "this is what frees it"
print(json.dumps({"in use by the kernel, tab open": first_tab, "tab closed, another one opened": second_tab}))

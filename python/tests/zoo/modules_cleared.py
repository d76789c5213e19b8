"""sys.modules is cleared of all that is not built in."""
import sys

kept = {name: module for name, module in sys.modules.items() if name in sys.builtin_module_names or name == "__main__"}
sys.modules.clear()
sys.modules.update(kept)
print("cleared")

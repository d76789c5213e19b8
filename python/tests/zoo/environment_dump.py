"""Prints its environment but for the three variables that the documentation names."""
import json
import os

documented = ("OOMPH_RUN", "OOMPH_PARENT", "PYTHONPATH")
print(json.dumps({name: value for name, value in sorted(os.environ.items()) if name not in documented}, indent=1))

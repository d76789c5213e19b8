"""Prints the names in its environment in their order, but for those that the documentation names."""
# differs: the variables are sorted by their names
import os

print([name for name in os.environ if name not in ("OOMPH_RUN", "OOMPH_PARENT", "PYTHONPATH")])

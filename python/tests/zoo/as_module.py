"""Is run with -m, and looks at how it was started."""
# as: module
import os
import sys

print(__name__, __spec__.name, os.path.basename(sys.argv[0]), sys.path[0] == os.getcwd(), len(sys.path))

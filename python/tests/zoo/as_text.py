"""Is given with -c, and reads no file of its own."""
# as: text
# args: -c --help -q
import sys

print(__name__, sys.argv, "__file__" in globals(), repr(sys.path[0]))

"""sys.exit with a text, from a finally block while another exception is on its way."""
import sys

try:
    raise ValueError("first")
finally:
    sys.exit("gave up")

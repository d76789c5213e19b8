"""logging to standard error and a file, captured warnings, a handler that raises, logging at exit."""
import atexit
import logging
import sys
import warnings

logging.basicConfig(level=logging.DEBUG, format="%(levelname)s %(name)s %(message)s", handlers=[
    logging.StreamHandler(sys.stderr), logging.FileHandler("log.txt")])
logging.captureWarnings(True)
warnings.simplefilter("always")
warnings.warn("captured")
logging.getLogger("a.b").debug("%d", 5)
atexit.register(logging.info, "at exit")

"""threading.excepthook is replaced; a thread raises, another calls sys.exit."""
import sys
import threading

threading.excepthook = lambda found: print("thread:", found.exc_type.__name__, found.exc_value)


def raises():
    raise OSError("in a thread")


for target in (raises, lambda: sys.exit(9)):
    thread = threading.Thread(target=target)
    thread.start()
    thread.join()

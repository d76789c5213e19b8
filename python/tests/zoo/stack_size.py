"""Threads with a small stack, and a stack limit that is lowered."""
import resource
import threading

threading.stack_size(64 << 10)
soft, hard = resource.getrlimit(resource.RLIMIT_STACK)
resource.setrlimit(resource.RLIMIT_STACK, (1 << 20, hard))
thread = threading.Thread(target=lambda: print(sum(range(1000))))
thread.start()
thread.join()

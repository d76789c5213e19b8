"""Dies of SIGTERM, which it sends itself while a handler of another signal runs."""
import os
import signal


def handler(number, frame):
    print("handled", flush=True)
    os.kill(os.getpid(), signal.SIGTERM)


signal.signal(signal.SIGUSR2, handler)
os.kill(os.getpid(), signal.SIGUSR2)
print("not reached")

"""Handlers of its own for SIGALRM, SIGUSR1, SIGTERM and SIGCHLD, and what was there before them."""
import os
import signal
import time

seen = []
for number in (signal.SIGALRM, signal.SIGUSR1, signal.SIGTERM, signal.SIGCHLD):
    signal.signal(number, lambda number, frame: seen.append(signal.Signals(number).name))
for number in (signal.SIGUSR1, signal.SIGTERM):
    os.kill(os.getpid(), number)
signal.setitimer(signal.ITIMER_REAL, 0.02)
if os.fork() == 0:
    os._exit(0)
end = time.monotonic() + 5
while len(seen) < 4 and time.monotonic() < end:
    time.sleep(0.01)
print(sorted(seen))

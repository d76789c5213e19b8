"""Threads that go on while the interpreter ends: one that is waited for, and a daemon."""
import threading
import time


def late():
    time.sleep(0.1)
    print("late")


def forever():
    while True:
        [object() for _ in range(100)]


threading.Thread(target=forever, daemon=True).start()
threading.Thread(target=late).start()
print("main ends")

"""Generators, coroutines and context managers that are alive at the end, and close with output."""
import contextlib


def numbers():
    try:
        yield 1
        yield 2
    finally:
        print("closed")


@contextlib.contextmanager
def manager():
    print("enter")
    try:
        yield
    finally:
        print("leave")


async def never():
    print("not run")


alive = numbers()
next(alive)
held = manager()
held.__enter__()
coroutine = never()

"""builtins.__import__ is replaced by one that prints; it stays so until the end."""
import builtins

original = builtins.__import__


def noisy(name, *args, **kwargs):
    print("import", name)
    return original(name, *args, **kwargs)


builtins.__import__ = noisy
import colorsys

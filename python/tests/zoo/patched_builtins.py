"""open, print, len and isinstance are replaced by ones that print; they stay so until the end."""
import builtins
import io
import os

os.write(1, b"begin\n")


def noisy(name, original):
    def call(*args, **kwargs):
        os.write(1, f"{name}\n".encode())
        return original(*args, **kwargs)

    return call


builtins.open = noisy("open", open)
io.open = builtins.open
builtins.print = noisy("print", print)
print("hello", flush=True)

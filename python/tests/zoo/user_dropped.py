"""Becomes another user, as servers do, where it may; its own files are no longer its own."""
import os

if os.geteuid() == 0:
    os.setgid(65534)
    os.setuid(65534)
print("another user")

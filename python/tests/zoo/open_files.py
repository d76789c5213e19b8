"""Which file descriptors are open, and whether a new one has the lowest number; closes all it does not know."""
import os

read, write = os.pipe()
print(sorted(map(int, os.listdir("/proc/self/fd")))[:-1], read, write)
os.closerange(3, 256)
with open("left.txt", "w") as file:
    print(file.fileno())

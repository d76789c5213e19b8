"""Its own name is no UTF-8; it makes files and folders with such names, and raises."""
# name: odd\xff name.py
import os

with open(b"\xfe.txt", "w") as file:
    file.write("x")
os.mkdir("new\nline")
print(sorted(name for name in os.listdir(b".") if name != b".oomph"))
raise ValueError("\udcff")

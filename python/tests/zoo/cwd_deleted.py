"""Its working directory is deleted while it runs."""
import os

os.mkdir("gone")
os.chdir("gone")
os.rmdir("../gone")
try:
    os.getcwd()
except FileNotFoundError:
    print("gone")

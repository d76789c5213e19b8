"""Sets a low recursion limit and stays with it."""
import sys

sys.setrecursionlimit(30)
print(sys.getrecursionlimit())

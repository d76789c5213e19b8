"""Looks at the callers' frames, at __main__ and at sys.argv, as Fire and Hydra do."""
# args: model.size=3 +new=4
import inspect
import os
import sys

main = sys.modules["__main__"]
frame = inspect.currentframe()
depth = 0
while frame.f_back:
    frame, depth = frame.f_back, depth + 1
print(depth, os.path.basename(main.__file__), main.__spec__, main.__package__, frame.f_code.co_name)
print(dict(word.lstrip("+").split("=") for word in sys.argv[1:]))
print(open(__file__).readline(), inspect.getsource(main)[:20], inspect.getdoc(main))

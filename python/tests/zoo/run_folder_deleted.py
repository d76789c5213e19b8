"""Deletes everything in its directory, hidden folders too, as a cleaning step does."""
import os
import shutil

for name in os.listdir("."):
    shutil.rmtree(name) if os.path.isdir(name) else os.unlink(name)
print(os.listdir("."))

"""Replaces itself by Python with other options, as launchers do, and keeps its arguments."""
# args: one "two three"
import os
import sys

if not sys.flags.utf8_mode:
    os.execv(sys.executable, [sys.executable, "-X", "utf8", "-u", *sys.argv])
print(sys.argv[1:], sys.flags.utf8_mode, sys.flags.unbuffered)

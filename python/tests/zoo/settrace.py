"""A tracer like that of coverage: lines of this file are counted, other files are looked at and passed over."""
import collections
import sys
import threading

lines = collections.Counter()
files = collections.Counter()


def trace(frame, event, argument):
    files[frame.f_code.co_filename] += 1
    if frame.f_code.co_filename != __file__:
        return None
    lines[frame.f_lineno] += 1
    return trace


def work(n):
    return sum(i for i in range(n))


threading.settrace(trace)
sys.settrace(trace)
work(3)
thread = threading.Thread(target=work, args=(2,))
thread.start()
thread.join()
print(sorted(lines.items()), len(files))

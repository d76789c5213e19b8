"""tracemalloc counts what this file allocates."""
import tracemalloc

tracemalloc.start(5)
held = [bytes(1000) for _ in range(100)]
snapshot = tracemalloc.take_snapshot().filter_traces([tracemalloc.Filter(True, __file__)])
print(len(snapshot.statistics("filename")), tracemalloc.get_traceback_limit())

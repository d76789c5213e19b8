"""gc is off, frozen, with callbacks and debug flags; callbacks count what nobody asked for."""
import gc

gc.disable()
gc.collect()
gc.freeze()
seen = []
gc.callbacks.append(lambda phase, info: seen.append(phase))
held = [[] for _ in range(10_000)]
print(seen, gc.collect(), seen)
gc.set_debug(gc.DEBUG_SAVEALL)

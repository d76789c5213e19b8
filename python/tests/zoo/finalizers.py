"""weakref callbacks, weakref.finalize and __del__ with output, alive at the end, in cycles and in globals."""
import weakref


class Says:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print("del", self.name)


a = Says("global")
cycle = [Says("cycle")]
cycle.append(cycle)
weakref.finalize(a, print, "finalized")
reference = weakref.ref(a, lambda _: print("callback"))
generator = (print("generator", x) for x in range(3))
next(generator)

"""cProfile around a function, printed by name without times."""
import cProfile
import pstats


def work(n):
    return [str(i) for i in range(n)]


profiler = cProfile.Profile()
profiler.enable()
work(10)
profiler.disable()
print(sorted((name, calls[0]) for (_, _, name), calls in pstats.Stats(profiler).stats.items()))

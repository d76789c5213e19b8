"""Pickles dataclasses, functions and exceptions of __main__, copies them, and reads them in another process."""
import copy
import dataclasses
import multiprocessing
import pickle


@dataclasses.dataclass
class Point:
    x: int
    y: list = dataclasses.field(default_factory=list)


def shown(data):
    return repr(pickle.loads(data))


if __name__ == "__main__":
    data = pickle.dumps([Point(1, [2]), shown, ValueError("v")])
    print(copy.deepcopy(Point(3)), shown(data)[:20])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        print(pool.apply(repr, (Point(5),)))

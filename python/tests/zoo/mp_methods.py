"""multiprocessing by fork, spawn and forkserver, with what each child returns and its exit code."""
import multiprocessing
import sys


def work(queue, number):
    queue.put(number * number)
    sys.exit(number)


if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = multiprocessing.get_context(method)
        queue = context.Queue()
        child = context.Process(target=work, args=(queue, 5))
        child.start()
        print(method, queue.get(), child.join(), child.exitcode)

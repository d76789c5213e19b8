"""A child that is killed, and one that calls abort: exit codes as the parent sees them."""
import multiprocessing
import os
import resource
import signal


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


if __name__ == "__main__":
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    context = multiprocessing.get_context("fork")
    for target in (kill, os.abort):
        child = context.Process(target=target)
        child.start()
        child.join()
        print(child.exitcode)

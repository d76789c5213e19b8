"""Forks in a thread that is not the main one."""
import os
import threading

ended = []


def work():
    child = os.fork()
    if child == 0:
        os.write(1, b"child of a thread\n")
        os._exit(3)
    ended.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))


thread = threading.Thread(target=work)
thread.start()
thread.join()
print(ended)

"""A daemon: forks twice, leaves its session, closes what it inherited and writes a file late."""
import os
import time

read, write = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork():
        os._exit(0)
    os.close(read)
    os.chdir("/")
    here = os.path.dirname(os.path.abspath(__file__))
    time.sleep(0.1)
    with open(os.path.join(here, "daemon.txt"), "w") as file:
        file.write("daemon was here\n")
    os.write(write, b"done")
    os._exit(0)
os.close(write)
os.wait()
print(os.read(read, 10))

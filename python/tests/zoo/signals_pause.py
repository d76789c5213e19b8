"""signal.pause until its own child signals; sigwait with a blocked signal; a wakeup file descriptor."""
import os
import signal
import threading
import time

signal.signal(signal.SIGUSR1, lambda *_: print("woken"))
read, write = os.pipe2(os.O_NONBLOCK)
signal.set_wakeup_fd(write)
threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGUSR1)).start()
signal.pause()
time.sleep(0.01)
print(os.read(read, 9) == bytes([signal.SIGUSR1]))
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGUSR2])
os.kill(os.getpid(), signal.SIGUSR2)
print(signal.sigwait([signal.SIGUSR2]).name)

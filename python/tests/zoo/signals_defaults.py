"""What every signal does at the start, but for SIGUSR1, and which ones are blocked."""
import signal

for number in sorted(signal.valid_signals()):
    if number != signal.SIGUSR1 and number < 32:
        print(number, signal.getsignal(number))
print(signal.pthread_sigmask(signal.SIG_BLOCK, []))

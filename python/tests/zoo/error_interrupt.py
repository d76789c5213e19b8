"""KeyboardInterrupt that nobody catches: Python ends by the signal itself."""
print("before", flush=True)
raise KeyboardInterrupt

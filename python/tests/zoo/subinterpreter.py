"""Runs code in a second interpreter of the same process."""
import _xxsubinterpreters as interpreters

other = interpreters.create()
interpreters.run_string(other, "import sys; print('inside', sys.flags.isolated, flush=True)")
interpreters.destroy(other)
print("outside")

"""A MemoryError that nobody catches."""
# verdict: yes
raise MemoryError("no room")

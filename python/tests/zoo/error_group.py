"""An exception group in a group, with notes, that nobody catches."""
# verdict: yes
inner = ExceptionGroup("inner", [ValueError(1), TypeError(2)])
inner.add_note("a note")
raise ExceptionGroup("outer", [inner, MemoryError("out of memory")])

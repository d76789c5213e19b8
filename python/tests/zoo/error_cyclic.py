"""An exception that is its own cause's cause, with a text of a megabyte and control characters."""
first, second = ValueError("\x1b[31mred\x00" + "x" * 1000), KeyError("k")
first.__cause__ = second
second.__context__ = first
raise first

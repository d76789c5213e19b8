"""Runs cells as a notebook does: compiled under made-up file names, in one namespace, with errors shown."""
import linecache
import traceback

space = {"__name__": "__main__"}
for number, cell in enumerate(("x = 1", "print(x + 1)", "def f():\n    return 1 / 0\nf()")):
    name = f"<ipython-input-{number}>"
    linecache.cache[name] = (len(cell), None, cell.splitlines(True), name)
    try:
        exec(compile(cell, name, "exec"), space)
    except ZeroDivisionError:
        print(traceback.format_exc())

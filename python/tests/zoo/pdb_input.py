"""Stops in the debugger, which reads its commands from standard input."""
# stdin: p 1 + 1\nw\nn\np x\nc\n
import pdb

pdb.set_trace()
x = 5
print("after", x)

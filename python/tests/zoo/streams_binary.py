"""Writes bytes that are no text to both streams, a line without an end, and reads binary input."""
# stdin: some text
import sys

sys.stdout.buffer.write(b"\xff\xfe\x00no newline")
sys.stderr.buffer.write(b"\x80\x81 also none")
sys.stdout.buffer.write(sys.stdin.buffer.read())

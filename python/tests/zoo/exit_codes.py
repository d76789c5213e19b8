"""Ends with a code beyond a byte."""
raise SystemExit(300)

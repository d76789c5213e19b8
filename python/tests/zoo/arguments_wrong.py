"""argparse refuses an argument and prints its usage."""
# args: --bad
import argparse

argparse.ArgumentParser(prog="zoo").parse_args()

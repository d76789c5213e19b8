"""Arguments as argparse and others see them: options of oomph's own, empty words, what is no UTF-8."""
# args: -q --json --limit=5 -- "" "a b" \xff\xfe --set x:y -m
import argparse
import sys

print([argument.encode("utf-8", "surrogateescape") for argument in sys.argv[1:]], sys.argv[0], len(sys.orig_argv))
parser = argparse.ArgumentParser()
parser.add_argument("--limit", type=int)
print(parser.parse_known_args()[0])

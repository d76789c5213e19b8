"""Warnings are errors from here on, also those about resources."""
import sys
import warnings

warnings.simplefilter("error")
sys.unraisablehook = lambda found: print("unraisable", found.exc_type.__name__)
try:
    warnings.warn("careful", DeprecationWarning)
except DeprecationWarning as error:
    print("raised", error)
open(__file__)

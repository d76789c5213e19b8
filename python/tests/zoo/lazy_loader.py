"""Modules that are loaded when they are first touched, by importlib.util.LazyLoader."""
import importlib.util
import sys


def lazily(name):
    spec = importlib.util.find_spec(name)
    spec.loader = importlib.util.LazyLoader(spec.loader)
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


colours = lazily("colorsys")
print(type(colours).__name__, colours.rgb_to_hsv(0, 0, 0), type(colours).__name__)

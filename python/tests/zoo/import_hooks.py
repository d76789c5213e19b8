"""An import hook of its own that prints what is looked up, and one that makes modules out of nothing."""
import importlib.abc
import importlib.machinery
import sys


class Makes(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        print("look up", name)
        return importlib.machinery.ModuleSpec(name, self) if name.startswith("made") else None

    def create_module(self, spec):
        return None

    def exec_module(self, module):
        module.value = len(module.__name__)


sys.meta_path.insert(0, Makes())
import made_up

print(made_up.value)
try:
    import not_there_at_all
except ModuleNotFoundError as error:
    print(error)

"""find_spec before import, reload, modules removed from sys.modules and imported again, a module that replaces itself."""
import importlib
import importlib.util
import pathlib
import sys

pathlib.Path("replaces.py").write_text("import sys\nclass A: x = 5\nsys.modules[__name__] = A()\n")
pathlib.Path("counted.py").write_text("print('loaded', __name__)\n")
import replaces

print(replaces.x, importlib.util.find_spec("counted").name)
import counted

importlib.reload(counted)
del sys.modules["counted"]
importlib.import_module("counted")
for name in ("json", "pickle", "platform", "threading"):
    sys.modules.pop(name, None)
import json

print(json.dumps([1]), sys.modules["json"] is json)
sys.modules["traceback"] = None
try:
    import traceback
except ImportError as error:
    print(type(error).__name__, error)

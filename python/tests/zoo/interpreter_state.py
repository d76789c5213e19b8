"""What a program can see of its interpreter: flags, path, prefixes, threads, hooks, limits."""
import gc
import locale
import sys
import threading

print(sys.flags, sys.path, sys.prefix, sys.exec_prefix, sys.executable, sys.argv, sys.orig_argv[1:])
print([thread.name for thread in threading.enumerate()], gc.isenabled(), gc.get_threshold(), gc.callbacks, gc.get_freeze_count())
print(sys.getrecursionlimit(), sys.getswitchinterval(), sys.gettrace(), sys.getprofile(), sys.excepthook)
print(locale.setlocale(locale.LC_ALL), sys.dont_write_bytecode, sys.pycache_prefix, sys._xoptions, sys.warnoptions)
print(sorted(name for name in dir(sys.modules["__main__"]) if name.startswith("__")))
print(sys.breakpointhook, sys.displayhook, sys.unraisablehook, sys.get_asyncgen_hooks(), len(sys.path_hooks))

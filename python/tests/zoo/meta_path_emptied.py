"""sys.meta_path, sys.path_hooks and sys.path are emptied: nothing can be imported any more."""
import sys

sys.meta_path.clear()
sys.path_hooks.clear()
sys.path_importer_cache.clear()
sys.path.clear()
try:
    import colorsys
except ImportError as error:
    print(error)

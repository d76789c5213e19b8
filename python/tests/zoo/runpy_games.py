"""runpy.run_path, run_module, python -m of a package with __main__, and a zip that is run."""
import pathlib
import runpy
import subprocess
import sys
import zipfile

pathlib.Path("package").mkdir()
pathlib.Path("package/__init__.py").write_text("")
pathlib.Path("package/__main__.py").write_text("import sys; print(__name__, len(sys.argv), __spec__.name)")
pathlib.Path("other.py").write_text("print(__name__, __file__); value = 3")
print(runpy.run_path("other.py")["value"], runpy.run_path("other.py", run_name="__main__")["value"])
sys.path.insert(0, "")
runpy.run_module("package", run_name="__main__", alter_sys=True)
print(subprocess.run([sys.executable, "-m", "package", "x"], capture_output=True, text=True).stdout)
with zipfile.ZipFile("app.pyz", "w") as archive:
    archive.writestr(zipfile.ZipInfo("__main__.py"), "import inside; print(inside.__loader__.__class__.__name__)")
    archive.writestr(zipfile.ZipInfo("inside.py"), "")
print(subprocess.run([sys.executable, "app.pyz"], capture_output=True, text=True))

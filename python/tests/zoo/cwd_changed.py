"""Changes its directory and its umask, and writes files whose modes are printed."""
import os
import pathlib

os.umask(0o027)
os.mkdir("below")
os.chdir("below")
pathlib.Path("file").write_text("x")
print(oct(os.stat("file").st_mode), oct(os.stat("..//below").st_mode), oct(os.umask(0o777)))

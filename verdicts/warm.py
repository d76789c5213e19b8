"""A Python that has imported PyTorch already, and forks for every program: the import is most of what a small one takes.
Other modules can be named instead.

    with warm.python(PYTHON, PHANTOM) as python: subprocess.run([..., python, "script.py", "an argument"])

What is given is a program that stands in for the interpreter: for a script, a module (-m) or a text (-c). It hands its words, folder, environment and open files to
the one that waits, which forks; it ends as the fork does. The fork begins as an interpreter does: with the recorder, if
`oomph run` is what started it. It ends as one does, up to what is registered with `atexit`, but does not free what
PyTorch has imported: that would take longer than most programs.
"""

from __future__ import annotations

import array
import atexit
import contextlib
import gc
import importlib
import json
import multiprocessing.process
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence

# The stand-in needs next to nothing of Python, and so it starts at once.
STAND_IN = """\
#!{python} -IS
import json, os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.connect({address!r})
words = json.dumps([sys.argv[1:], os.getcwd(), dict(os.environ), os.getppid()]).encode("utf-8", "surrogateescape")
import array
server.sendmsg([len(words).to_bytes(8, "little")], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
server.sendall(words)
said = server.recv(8)
# A fork that is gone without a word was killed.
code = int.from_bytes(said, "little", signed=True) if said else -9
if code < 0:
    import signal
    signal.signal(-code, signal.SIG_DFL) if -code not in (9, 19) else None
    os.kill(os.getpid(), -code)
sys.exit(code)
"""


# The second is what the first optimizer of a program imports.
PYTORCH = ("torch", "torch._dynamo")


@contextlib.contextmanager
def python(
    interpreter: str,
    phantom: str | None,
    modules: Sequence[str] = PYTORCH,
    environment: Mapping[str, str] = os.environ,
) -> Iterator[str]:
    """The path of a program that runs scripts as `interpreter` does, on the phantom GPU, or with none. `modules` are
    imported already, under `environment`: what they read of it as they are imported holds for every program."""
    with tempfile.TemporaryDirectory() as folder:
        address = os.path.join(folder, "socket")
        stand_in = pathlib.Path(folder, "python")
        stand_in.write_text(STAND_IN.format(python=interpreter, address=address))
        stand_in.chmod(0o755)
        kept = {name: value for name, value in environment.items() if not name.startswith(("OOMPH", "PYTORCH"))}
        if phantom is not None:
            kept["LD_PRELOAD"] = phantom
        server = subprocess.Popen([interpreter, "-c", _SERVER, address, *modules], env=kept, stdout=subprocess.PIPE)
        try:
            assert server.stdout is not None
            if server.stdout.readline() != b"ready\n":
                sys.exit("warm.py: the Python that waits could not start")
            yield str(stand_in)
        finally:
            server.kill()
            server.wait()


def _receive(client: socket.socket) -> tuple[list[str], str, dict[str, str], int, list[int]]:
    length, rights, _, _ = client.recvmsg(8, socket.CMSG_SPACE(3 * 4))
    files = array.array("i")
    files.frombytes(rights[0][2])
    size = int.from_bytes(length, "little")
    text = b""
    while len(text) < size:
        text += client.recv(size - len(text))
    words, folder, environment, parent = json.loads(text.decode("utf-8", "surrogateescape"))
    return words, folder, environment, parent, list(files)


def _become(words: list[str], folder: str, environment: dict[str, str], parent: int, files: list[int]) -> list[str]:
    """Makes this fork what the interpreter would be with these words, which are given."""
    for place, file in enumerate(files):
        os.dup2(file, place)
        os.close(file)
    os.chdir(folder)
    # Where processes that are spawned look for the script; known from when the module was imported.
    multiprocessing.process.ORIGINAL_DIR = folder
    os.environ.clear()
    os.environ.update(environment)
    if environment.get("OOMPH_PARENT") == str(parent):
        os.environ["OOMPH_PARENT"] = str(os.getppid())
    sys.orig_argv = [sys.executable, *words]
    if words[0] in ("-c", "-m"):
        sys.argv = [words[0], *words[2:]]
        sys.path[0] = "" if words[0] == "-c" else os.getcwd()
    else:
        sys.argv = words
        sys.path[0] = os.path.dirname(os.path.abspath(words[0]))
    if os.environ.get("OOMPH_RUN"):
        from oomph._recorder import start

        start()
    return words


# The exit code of this fork, once it is known.
_code: int | None = None


def ended(error: BaseException | None) -> None:
    """Says how the program ended: with this error, or at its last line. An interrupt is left to Python."""
    global _code
    if error is None:
        _code = 0
    elif isinstance(error, SystemExit):
        _code = error.code if isinstance(error.code, int) else int(error.code is not None)
    elif isinstance(error, Exception):
        _code = 1


def _end() -> None:
    """Ends this fork, if its exit code is known."""
    if _code is not None:
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):
                stream.flush()
        os._exit(_code & 0xFF)


def serve(address: str, modules: Sequence[str]) -> list[str]:
    """Waits for programs. Comes back in each fork, with the words of its command; never in the process that waits."""
    # What is registered first is called last.
    atexit.register(_end)
    for module in modules:
        importlib.import_module(module)
    # No search for a program's objects has to go through PyTorch's, which would copy their pages into each fork.
    gc.collect()
    gc.freeze()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(address)
    listener.listen(64)
    print("ready", flush=True)
    while True:
        client, _ = listener.accept()
        # A process in between waits for the fork, so that this one need not.
        if os.fork() == 0:
            listener.close()
            message = _receive(client)
            fork = os.fork()
            if fork == 0:
                client.close()
                return _become(*message)
            for file in message[-1]:
                os.close(file)
            null = os.open(os.devnull, os.O_RDWR)
            for place in range(3):
                os.dup2(null, place)
            _, status = os.waitpid(fork, 0)
            client.sendall(os.waitstatus_to_exitcode(status).to_bytes(8, "little", signed=True))
            os._exit(0)
        client.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG)[0]:
                pass


# What the forks stand in: `runpy`, as under `python -m`, and no file of the program's.
_SERVER = f"""
import sys
sys.path.insert(0, {os.path.dirname(os.path.abspath(__file__))!r})
import warm
code = '''
path, *more = warm.serve(sys.argv[1], sys.argv[2:])
try:
    if path == "-m":
        import runpy
        runpy.run_module(more[0], run_name="__main__", alter_sys=True)
    else:
        main = type(sys)("__main__")
        sys.modules["__main__"] = main
        if path == "-c":
            text, path = more[0], "<string>"
        else:
            main.__file__ = path
            with open(path, "rb") as file:
                text = file.read()
        exec(compile(text, path, "exec"), main.__dict__)
    warm.ended(None)
except BaseException as error:
    warm.ended(error)
    raise
'''
sys.path.pop(0)
exec(compile(code, "<frozen runpy>", "exec"), dict(sys=sys, warm=warm))
"""

"""`oomph mcp` with a real client of the Model Context Protocol: Python's own."""

from __future__ import annotations

import functools
import json
import pathlib
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from programs import GIB, Programs
from test_plan import TRAIN

pytest.importorskip("mcp")

import anyio  # noqa: E402
from mcp import Client, MCPError, StdioServerParameters  # noqa: E402

# How a client may begin: with `initialize`, by asking the server, or by the one version that needs neither.
MODES = ("legacy", "auto", "2026-07-28")
MESSAGE = (
    "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 9.27 GiB. GPU 0 has a total capacity of 15.00 GiB of "
    "which 3.13 GiB is free. Including non-PyTorch memory, this process has 11.87 GiB memory in use."
)

Talk = Callable[[Client], Awaitable[Any]]
Ask = Callable[..., Any]


@pytest.fixture
def ask(oomph_bin: str, phantom: str, tmp_path: pathlib.Path) -> Ask:
    """Starts a server, talks with it, and has it ended by the client."""

    def run(talk: Talk, mode: str = "auto") -> Any:
        server = StdioServerParameters(
            command=oomph_bin, args=["mcp"], cwd=tmp_path, env={"OOMPH_PHANTOM_LIB": phantom}
        )

        async def session() -> Any:
            with anyio.fail_after(240):
                async with Client(server, mode=mode) as client:
                    return await talk(client)

        return anyio.run(session)

    return run


def call(name: str, /, **arguments: Any) -> Talk:
    return lambda client: client.call_tool(name, arguments)


@pytest.mark.parametrize("mode", MODES)
def test_a_client_lists_the_tools_and_calls_one(ask: Ask, oomph_bin: str, mode: str) -> None:
    async def talk(client: Client) -> Any:
        return client.protocol_version, (await client.list_tools()).tools, await client.call_tool("explain", {"text": MESSAGE})

    version, tools, explained = ask(talk, mode)
    assert version == ("2025-11-25" if mode == "legacy" else "2026-07-28")
    assert [tool.name for tool in tools] == ["explain", "lint", "plan", "replay", "tune", "diff", "status"]
    runs_code = {tool.name: not tool.annotations.read_only_hint for tool in tools}
    assert runs_code == {"explain": False, "lint": False, "plan": True, "replay": False, "tune": False, "diff": False, "status": False}
    assert "THIS RUNS THE USER'S SCRIPT" in next(tool.description for tool in tools if tool.name == "plan")
    assert all(tool.input_schema["additionalProperties"] is False for tool in tools)
    command = [oomph_bin, "explain", "-", "--json"]
    said = json.loads(subprocess.run(command, input=MESSAGE, capture_output=True, text=True, check=True).stdout)
    assert explained.structured_content == said
    assert [json.loads(part.text) for part in explained.content] == [said]
    assert explained.is_error is False and said["ooms"][0]["cause"] == "capacity"


def test_snapshots_are_explained_replayed_and_tuned_as_by_the_command(
    ask: Ask, fixtures: pathlib.Path, oomph_bin: str
) -> None:
    file = str(fixtures / "fragmentation-oom/snapshot.pickle.gz")

    def command(*words: str) -> Any:
        done = subprocess.run([oomph_bin, *words, "--json"], capture_output=True, text=True, check=True)
        return json.loads(done.stdout)

    async def talk(client: Client) -> Any:
        explained = await client.call_tool("explain", {"files": [file]})
        replayed = await client.call_tool("replay", {"file": file, "set": ["expandable_segments:True"], "limit": "8GiB"})
        tuned = await client.call_tool("tune", {"file": file, "limit": "6GiB"})
        return [result.structured_content for result in (explained, replayed, tuned)]

    assert ask(talk) == [
        command("explain", file),
        command("replay", file, "--set", "expandable_segments:True", "--limit", "8GiB"),
        command("tune", file, "--limit", "6GiB"),
    ]


def test_a_plan_runs_the_script_and_keeps_what_it_prints_to_itself(ask: Ask, programs: Programs) -> None:
    # Were it to reach standard output, the client would take it for a message.
    loud = 'import os\nprint("{}")\nos.write(1, b"[1, 2]\\n")\nos.write(2, b"[3]\\n")\n'
    programs.write(loud + TRAIN, "train.py")
    plan = functools.partial(
        call, "plan", command=["train.py", "--batch", "4"], gpu=["T4"], python=programs.warm_python,
        folder=str(programs.folder), no_options=True,
    )  # fmt: skip
    result = ask(plan())
    answer = result.structured_content
    assert result.is_error is False and (answer["gpu"], answer["fits"]) == ("T4", True), answer
    assert GIB < answer["peak_reserved"] < 8 * GIB
    # One that does not fit is an answer as well.
    result = ask(plan(limit="1GiB"))
    assert result.is_error is False and result.structured_content["fits"] is False


def test_a_script_that_fails_and_one_that_is_not_there(ask: Ask, programs: Programs) -> None:
    programs.write("import torch\nraise ValueError('no such data')", "fails.py")
    start = functools.partial(call, "plan", gpu=["T4"], folder=str(programs.folder), python=programs.warm_python)
    failed = ask(start(command=["fails.py"]))
    assert failed.is_error is False and failed.structured_content["fits"] is None
    assert "no such data" in failed.structured_content["why_not"]
    gone = ask(start(command=["gone.py"]))
    assert gone.is_error is True and [part.text for part in gone.content] == ["gone.py: not found"]
    wrong = ask(start(command=["fails.py"], gpu=["T5"]))
    assert wrong.is_error is True and [part.text for part in wrong.content] == [
        "no card `T5` is known. Write one of P100, V100-16, V100-32, T4, RTX3060, RTX3090, A10G, A100-40, A100-80, L4, "
        "RTX4060, RTX4090, H100, H200, B200, RTX5090, or give --memory SIZE"
    ]


def test_a_tool_that_is_not_there_is_an_error_of_the_protocol(ask: Ask) -> None:
    async def talk(client: Client) -> Any:
        with pytest.raises(MCPError) as raised:
            await client.call_tool("run", {"command": ["train.py"]})
        return raised.value.error.code, raised.value.error.message

    assert ask(talk) == (-32602, "there is no tool run: there are explain, lint, plan, replay, tune, diff, status")


SLEEPS = """
import os, sys, time
with open("pid.new", "w") as file:
    file.write(str(os.getpid()))
os.rename("pid.new", "pid")
time.sleep(600)
"""


def is_gone(pid: int) -> bool:
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return True
    return ") Z " in state


@pytest.mark.parametrize("mode", MODES)
def test_a_call_that_the_client_gives_up_ends_its_script(ask: Ask, tmp_path: pathlib.Path, mode: str) -> None:
    (tmp_path / "sleeps.py").write_text(SLEEPS)
    arguments = {"command": ["sleeps.py"], "gpu": ["T4"], "python": sys.executable}

    async def talk(client: Client) -> Any:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "plan", arguments)
            while not (tmp_path / "pid").exists():
                await anyio.sleep(0.02)
            group.cancel_scope.cancel()
        pid = int((tmp_path / "pid").read_text())
        while not is_gone(pid):
            await anyio.sleep(0.02)
        # The server goes on.
        return await client.call_tool("status", {})

    assert ask(talk, mode).structured_content["schema"] == 1


def test_a_client_that_goes_away_leaves_nothing_running(ask: Ask, tmp_path: pathlib.Path) -> None:
    (tmp_path / "sleeps.py").write_text(SLEEPS)

    async def talk(client: Client) -> None:
        async with anyio.create_task_group() as group:
            group.start_soon(client.call_tool, "plan", {"command": ["sleeps.py"], "gpu": ["T4"], "python": sys.executable})
            while not (tmp_path / "pid").exists():
                await anyio.sleep(0.02)
            # As if the conversation had been closed: the call and the server end at the same moment.
            group.cancel_scope.cancel()

    ask(talk)
    pid = int((tmp_path / "pid").read_text())
    deadline = time.monotonic() + 30
    while not is_gone(pid) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert is_gone(pid)

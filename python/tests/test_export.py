"""`oomph export`: what other programs read is what the recording says."""

from __future__ import annotations

import json
import pathlib
import re
import subprocess
from typing import Any

import pytest
from conftest import ROOT
from programs import Programs

GUIDE = ROOT / "docs/guide/ask-your-own-questions.md"
LANGUAGE = ROOT / "python/tests/regressions/language.py"


def run(oomph: str, *words: str, cwd: pathlib.Path | None = None) -> tuple[int, str, str]:
    done = subprocess.run([oomph, *words], capture_output=True, text=True, timeout=300, cwd=cwd)
    return done.returncode, done.stdout, done.stderr


@pytest.fixture(scope="module")
def files(fixtures: pathlib.Path, oomph_bin: str, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A folder with a real recording in all formats."""
    folder = tmp_path_factory.mktemp("export")
    forms = ("--perfetto", "a.pftrace", "--folded", "a.folded", "--speedscope", "a.json", "--parquet", "memory.parquet")
    code, out, err = run(oomph_bin, "export", str(snapshot(fixtures)), *forms, cwd=folder)
    assert (code, err) == (0, "")
    assert out == (
        "a.pftrace: open it in ui.perfetto.dev\n"
        "a.folded: give it to a program that draws flame graphs\n"
        "a.json: open it in speedscope.app\n"
        "memory.parquet: ask it with DuckDB, polars or pandas\n"
    )
    return folder


def snapshot(fixtures: pathlib.Path) -> pathlib.Path:
    return fixtures / "fragmentation-oom" / "snapshot.pickle.gz"


@pytest.fixture(scope="module")
def peaks(fixtures: pathlib.Path, oomph_bin: str) -> dict[str, int]:
    """What the replay of the same recording says."""
    found: dict[str, int] = json.loads(run(oomph_bin, "replay", str(snapshot(fixtures)), "--json")[1])["recorded"]
    return found


def test_folded_stacks_add_up_to_the_peak(files: pathlib.Path, peaks: dict[str, int]) -> None:
    lines = (files / "a.folded").read_text().splitlines()
    stacks = [line.rsplit(" ", 1) for line in lines]
    assert sum(int(size) for _, size in stacks) == peaks["peak_active"]
    assert all(re.fullmatch(r"[^;]+ \([^;]*:\d+\)", frame) for stack, _ in stacks for frame in stack.split(";"))
    # The outermost comes first.
    assert all(stack.startswith("<module> (") for stack, _ in stacks)


def test_speedscope_has_the_same_stacks(files: pathlib.Path) -> None:
    document = json.loads((files / "a.json").read_text())
    frames = [frame["name"] for frame in document["shared"]["frames"]]
    (profile,) = document["profiles"]
    folded = {
        ";".join(frames[place] for place in sample): weight
        for sample, weight in zip(profile["samples"], profile["weights"], strict=True)
    }
    lines = (line.rsplit(" ", 1) for line in (files / "a.folded").read_text().splitlines())
    assert folded == {stack: int(size) for stack, size in lines}
    assert (profile["type"], profile["unit"], profile["startValue"]) == ("sampled", "bytes", 0)
    assert profile["endValue"] == sum(profile["weights"])
    assert document["$schema"] == "https://www.speedscope.app/file-format-schema.json"


# The messages of Perfetto's that are written, with the numbers of their fields: (name, number, type, repeated).
MESSAGES = {
    "Trace": [("packet", 1, "TracePacket", True)],
    "TracePacket": [
        ("timestamp", 8, "uint64", False),
        ("trusted_packet_sequence_id", 10, "uint32", False),
        ("track_event", 11, "TrackEvent", False),
        ("track_descriptor", 60, "TrackDescriptor", False),
    ],
    "TrackDescriptor": [
        ("uuid", 1, "uint64", False),
        ("name", 2, "string", False),
        ("process", 3, "ProcessDescriptor", False),
        ("parent_uuid", 5, "uint64", False),
        ("counter", 8, "CounterDescriptor", False),
    ],
    "ProcessDescriptor": [("pid", 1, "int32", False), ("process_name", 6, "string", False)],
    "CounterDescriptor": [("unit", 3, "int32", False)],
    "TrackEvent": [
        ("type", 9, "int32", False),
        ("track_uuid", 11, "uint64", False),
        ("name", 23, "string", False),
        ("counter_value", 30, "int64", False),
    ],
}


def parsed(path: pathlib.Path) -> Any:
    """The trace, read by protobuf's own decoder. No field may be unknown to the definitions above."""
    pytest.importorskip("google.protobuf", reason="protobuf is not installed here")
    from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, unknown_fields

    kinds = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(name="perfetto.proto", package="perfetto", syntax="proto2")
    for name, fields in MESSAGES.items():
        message = file.message_type.add(name=name)
        for field, number, kind, repeated in fields:
            label = kinds.LABEL_REPEATED if repeated else kinds.LABEL_OPTIONAL
            if kind in MESSAGES:
                message.field.add(
                    name=field, number=number, label=label, type=kinds.TYPE_MESSAGE, type_name=f".perfetto.{kind}"
                )
            else:
                message.field.add(name=field, number=number, label=label, type=getattr(kinds, f"TYPE_{kind.upper()}"))
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    trace = message_factory.GetMessageClass(pool.FindMessageTypeByName("perfetto.Trace"))()
    trace.ParseFromString(path.read_bytes())
    for packet in trace.packet:
        for message in (packet, packet.track_event, packet.track_descriptor):
            assert len(unknown_fields.UnknownFieldSet(message)) == 0
    return trace


BEGIN, END, INSTANT, COUNTER = 1, 2, 3, 4


class Told:
    """What a trace tells, by the names of its tracks."""

    def __init__(self, path: pathlib.Path) -> None:
        packets = list(parsed(path).packet)
        described = [packet.track_descriptor for packet in packets if packet.HasField("track_descriptor")]
        self.processes = [one.process.process_name for one in described if one.HasField("process")]
        self.names = {one.uuid: one.name for one in described if one.name}
        self.counters = [one.name for one in described if one.HasField("counter")]
        assert all(one.counter.unit == 3 for one in described if one.HasField("counter"))
        self.events = [(packet.timestamp, packet.track_event) for packet in packets if packet.HasField("track_event")]
        assert [time for time, _ in self.events] == sorted(time for time, _ in self.events)
        self.most_in_use = self.most_held = 0
        now = dict.fromkeys(self.counters, 0)
        times: dict[int, dict[str, int]] = {}
        for time, event in self.events:
            if event.type == COUNTER:
                now[self.names[event.track_uuid]] = event.counter_value
                times[time] = dict(now)
        for values in times.values():
            self.most_in_use = max(self.most_in_use, sum(size for name, size in values.items() if name != "held"))
            self.most_held = max(self.most_held, values["held"])

    def slices(self, track: str) -> list[str]:
        """The names of a track's slices, each of which has its end."""
        own = [event for _, event in self.events if self.names[event.track_uuid] == track]
        assert [event.type for event in own] == [BEGIN, END] * (len(own) // 2)
        return [event.name for event in own if event.type == BEGIN]


def test_perfettos_counters_reach_the_peaks(files: pathlib.Path, peaks: dict[str, int]) -> None:
    told = Told(files / "a.pftrace")
    assert told.processes == ["oomph: GPU 0"]
    assert told.counters == ["in use", "held"]
    assert (told.most_in_use, told.most_held) == (peaks["peak_active"], peaks["peak_reserved"])
    failed = [event.name for _, event in told.events if event.type == INSTANT]
    assert failed == ["180.00 MiB more was asked for"]


def test_perfetto_has_a_counter_for_each_class_and_slices_for_steps_and_phases(
    programs: Programs, oomph_bin: str, tmp_path: pathlib.Path
) -> None:
    outcome = programs.run(LANGUAGE.read_text())
    assert outcome.code == 0, outcome.stderr
    code, _, err = run(oomph_bin, "export", str(outcome.run()), "--perfetto", "a.pftrace", cwd=tmp_path)
    assert (code, err) == (0, "")
    told = Told(tmp_path / "a.pftrace")
    classes = ["weights", "gradients", "optimizer state", "workspaces", "activations", "optimizer temporaries", "rounding"]
    assert told.counters == [*(f"in use: {name}" for name in classes), "held"]
    peak = programs.json("replay", outcome.run())["recorded"]
    assert (told.most_in_use, told.most_held) == (peak["peak_active"], peak["peak_reserved"])
    assert told.slices("steps") == [f"step {n}" for n in range(1, 6)]
    assert told.slices("phases") == ["forward", "backward", "optimizer"] * 4 + ["forward", "evaluation"]


def test_the_queries_of_the_guide_are_answered_by_duckdb(
    files: pathlib.Path, fixtures: pathlib.Path, oomph_bin: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed here")
    queries = re.findall(r"```sql\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    assert len(queries) == 3
    monkeypatch.chdir(files)
    at_peak, short, left = (duckdb.sql(query).fetchall() for query in queries)
    # The peak by line, as another verb finds it.
    document = json.loads(run(oomph_bin, "diff", str(snapshot(fixtures)), str(snapshot(fixtures)), "--json")[1])
    lines = [(line["place"] or {}, line["b_bytes"], line["b_count"]) for line in document["lines"]]
    expected = [(place.get("file"), place.get("line"), place.get("function"), *rest) for place, *rest in lines]
    assert at_peak == [row for row in expected if row[3]]
    assert [(row[1], row[3], row[4]) for row in short] == []
    assert left == []


def test_every_allocation_is_a_row(files: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    duckdb = pytest.importorskip("duckdb", reason="duckdb is not installed here")
    monkeypatch.chdir(files)
    columns = re.findall(r"^\| (`.*?) \|", GUIDE.read_text().split("## The columns")[1], re.MULTILINE)
    named = [name for cell in columns for name in re.findall(r"`(\w+)`", cell)]
    described = duckdb.sql("DESCRIBE SELECT * FROM 'memory.parquet'").fetchall()
    assert [row[0] for row in described] == [
        "device", "address", "requested", "size", "stream", "pool", "segment", "alloc_event", "alloc_time_us",
        "free_event", "free_time_us", "class", "file", "line", "function", "stack_id", "stack", "step", "phase",
    ]  # fmt: skip
    assert sorted(named) == sorted(row[0] for row in described)
    # 611 requests were granted. When one failed, at event 1,623, two lines held what the first walk of ARCHITECTURE.md says.
    assert duckdb.sql("SELECT count(*), sum((size < requested)::INT), min(pool), max(stream) FROM 'memory.parquet'").fetchall() == [
        (611, 0, "0.0", 0)
    ]
    held = duckdb.sql(
        "SELECT line, count(*), sum(requested)::BIGINT FROM 'memory.parquet' "
        "WHERE alloc_event < 1623 AND free_event > 1623 GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert held == [(139, 200, 200 * 6 << 20), (142, 11, 11 * 180 << 20)]
    inside = "SELECT count(*) FROM 'memory.parquet' WHERE address < segment OR address + size > segment + (1 << 30)"
    assert duckdb.sql(inside).fetchall() == [(0,)]


def test_a_file_is_not_overwritten_unless_asked(fixtures: pathlib.Path, oomph_bin: str, tmp_path: pathlib.Path) -> None:
    file = str(snapshot(fixtures))
    (tmp_path / "a").write_text("mine")
    exists = (1, "", "oomph: a exists: pass --force to overwrite it\n")
    # Nothing else is written either.
    assert run(oomph_bin, "export", file, "--parquet", "b", "--folded", "a", cwd=tmp_path) == exists
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    same = (2, "", "oomph: two formats cannot both be written to b\n")
    assert run(oomph_bin, "export", file, "--parquet", "b", "--folded", "b", cwd=tmp_path) == same
    code, out, err = run(oomph_bin, "export", file, "--folded", "a", "--force", "--json", cwd=tmp_path)
    size = (tmp_path / "a").stat().st_size
    assert (code, err) == (0, "")
    assert json.loads(out) == {"schema": 1, "written": [{"form": "folded", "path": "a", "bytes": size}]}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]
    assert run(oomph_bin, "export", file, cwd=tmp_path)[0] == 2

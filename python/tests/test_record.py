"""`oomph.record()`: what it records and when it ends, on a GPU that is not there."""

from __future__ import annotations

from programs import LEAK, Programs

CARD = f"name=Tesla T4;total={1 << 30};capability=7.5;processors=40"


def said(programs: Programs, source: str) -> str:
    ended = programs.alone(LEAK + source, card=CARD)
    assert (ended.code, ended.stderr) == (0, ""), ended
    return ended.stdout


def test_the_error_that_was_recorded_gets_the_verdict_of_the_recording(programs: Programs) -> None:
    source = """
with oomph.record() as record:
    try:
        train()
    except torch.OutOfMemoryError as error:
        inside, kept = verdict(oomph.explain(error)), error
        print(inside == verdict(record.explain()), inside["cause"], inside["culprits"][0]["function"])
print(verdict(oomph.explain(kept)) == verdict(record.explain()) == inside)
"""
    assert said(programs, source) == "True leak forward\nTrue\n"


def test_an_error_that_ends_the_block_and_one_that_wraps_it_too(programs: Programs) -> None:
    source = """
def wrapped():
    try:
        train()
    except torch.OutOfMemoryError as error:
        raise RuntimeError("the training failed") from error
try:
    with oomph.record() as record:
        wrapped()
except RuntimeError as error:
    print(verdict(oomph.explain(error)) == verdict(record.explain()), verdict(record.explain())["cause"])
    print(verdict(oomph.explain()) == verdict(record.explain()))
"""
    assert said(programs, source) == "True leak\nTrue\n"


def test_each_error_has_the_verdict_on_its_own_failure(programs: Programs) -> None:
    source = """
errors = []
with oomph.record() as first:
    for ask in (lambda: torch.empty(2 << 30, dtype=torch.uint8, device="cuda"), train):
        try:
            ask()
        except torch.OutOfMemoryError as error:
            errors.append(error)
            print(verdict(oomph.explain(error))["cause"])
losses.clear()
with oomph.record() as second:
    try:
        torch.empty(3 << 30, dtype=torch.uint8, device="cuda")
    except torch.OutOfMemoryError as error:
        errors.append(error)
for error in errors[0], errors[2]:
    explained = oomph.explain(error).data["ooms"]
    print(explained[0]["size"] >> 20, len(explained))
print(oomph.explain(torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")).data.keys() >= {"lines"})
"""
    assert said(programs, source) == "capacity\nleak\n2048 2\n3072 1\nTrue\n"


def test_recording_ends_with_the_last_block(programs: Programs) -> None:
    source = """
is_on = torch._C._cuda_isHistoryEnabled
print(is_on())
with oomph.record() as outer:
    print(is_on())
    with oomph.record():
        step()
    print(is_on())
print(is_on())
with oomph.record():
    print(is_on())
print(is_on())
outer.save("copy.pickle")
print(open("copy.pickle", "rb").read() == open(outer.path, "rb").read())
"""
    assert said(programs, source).split() == ["False", "True", "True", "False", "True", "False", "True"]


def test_recording_that_ended_before_cuda_does_not_begin_with_it(programs: Programs) -> None:
    source = """
import oomph, torch
with oomph.record():
    pass
torch.ones(1, device="cuda")
print(torch._C._cuda_isHistoryEnabled())
with oomph.record() as record:
    kept = torch.ones(1 << 20, device="cuda")
print(len(record.explain().data["holders"]))
"""
    ended = programs.alone(source, card=CARD)
    assert (ended.stdout, ended.stderr) == ("False\n1\n", "")


def test_under_run_the_recording_goes_on(programs: Programs) -> None:
    source = LEAK + """
with oomph.record() as record:
    step()
print(torch._C._cuda_isHistoryEnabled())
try:
    train()
except torch.OutOfMemoryError as error:
    print(verdict(oomph.explain(error))["cause"])
"""
    assert programs.run(source, card=CARD).stdout == "True\nleak\n"

"""Measures inside a program: what it computes stays what it was."""

from __future__ import annotations

import pathlib
import textwrap
from collections.abc import Callable
from types import ModuleType
from typing import Any

import pytest
from oomph._measures import Measures, checkpointing


def model(torch: ModuleType) -> Any:
    """Blocks with all that makes computing them again hard: dropout, BatchNorm, arguments by name."""
    nn = torch.nn

    class Block(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.inner = nn.Linear(16, 16)
            self.norm = nn.BatchNorm1d(16)
            self.drop = nn.Dropout(0.3)
            self.calls = 0

        def forward(self, x: Any, *, scale: float = 1.0, past_key_values: Any = None) -> Any:
            self.calls += 1
            return x + scale * self.drop(self.norm(self.inner(x)).relu())

    class Model(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.blocks = nn.ModuleList(Block() for _ in range(5))
            self.head = nn.Linear(16, 3)

        def forward(self, x: Any) -> Any:
            for block in self.blocks:
                x = block(x, scale=0.5, past_key_values=object())
            return self.head(x)

    torch.manual_seed(1)
    return Model()


def trained(torch: ModuleType, checkpointed: int) -> tuple[dict[str, Any], list[int], list[float]]:
    """What is left of three steps, how often each block was computed, and the losses."""
    made = model(torch)
    if checkpointed:
        assert checkpointing.checkpoint(torch, made, checkpointed / 5) == checkpointed
    optimizer = torch.optim.AdamW(made.parameters(), lr=0.01)
    torch.manual_seed(2)
    losses = []
    for _ in range(3):
        x, y = torch.randn(8, 16), torch.randint(0, 3, (8,))
        loss = torch.nn.functional.cross_entropy(made(x), y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return made.state_dict(), [block.calls for block in made.blocks], losses


@pytest.mark.parametrize("checkpointed", [1, 3, 5])
def test_checkpointed_blocks_compute_the_same_bit_for_bit(torch: ModuleType, checkpointed: int) -> None:
    plain, calls, losses = trained(torch, 0)
    assert calls == [3] * 5
    again, more_calls, same_losses = trained(torch, checkpointed)
    assert more_calls == [6] * checkpointed + [3] * (5 - checkpointed)
    assert same_losses == losses
    assert all(torch.equal(plain[name], again[name]) for name in plain)


def test_blocks_are_what_a_model_repeats(torch: ModuleType) -> None:
    nn = torch.nn
    inner = [nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2)) for _ in range(3)]
    found = checkpointing.blocks(torch, nn.Sequential(nn.Embedding(4, 2), *inner, nn.Linear(2, 2)))
    assert [id(block) for block in found] == [id(block) for block in inner], "not the layers inside them"
    frozen = nn.Sequential(*[nn.Sequential(nn.Linear(2, 2)) for _ in range(3)]).requires_grad_(False)
    assert checkpointing.blocks(torch, frozen) == []
    assert checkpointing.blocks(torch, nn.Linear(2, 2)) == []


def test_evaluation_computes_every_block_once(torch: ModuleType) -> None:
    made = model(torch)
    checkpointing.checkpoint(torch, made, 1.0)
    made.eval()
    made(torch.randn(8, 16)).sum().backward()
    made.train()
    with torch.no_grad():
        made(torch.randn(8, 16))
    assert [block.calls for block in made.blocks] == [2] * 5


PROGRAM = """
    import json, sys, torch
    from oomph._measures import Measures
    measures = Measures(json.loads(sys.argv[1]))
    measures.at_torch(torch)
    torch.manual_seed(0)
    blocks = [torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.Dropout(0.2)) for _ in range(4)]
    model = torch.nn.Sequential(*blocks)
    optimizer = torch.optim.{optimizer}(model.parameters(){more})
    for _ in range(2):
        model(torch.randn(4, 8)).sum().backward()
        optimizer.step()
        optimizer.zero_grad()
    weight = float(model[0][0].weight.detach().double().sum())
    print(json.dumps([measures.notes(), weight, optimizer.defaults.get("fused"), optimizer.defaults.get("foreach")]))
"""


def noted(run_warm_python: Callable[..., str], asked: str, optimizer: str = "AdamW", more: str = "") -> Any:
    import json

    source = textwrap.dedent(PROGRAM).format(optimizer=optimizer, more=more)
    return json.loads(run_warm_python(source, asked))


def test_a_program_tells_what_there_is_to_change(run_warm_python: Callable[..., str], torch: ModuleType) -> None:
    notes, weight, *_ = noted(run_warm_python, "{}")
    assert notes == {"remarks": [], "forms": ["fused", "single"], "trains": True, "blocks": 4, "batch_norm": False}
    notes, same, fused, _ = noted(run_warm_python, '{"checkpointing": [2, 4]}')
    assert (notes["remarks"], same, fused) == ([], weight, None)
    notes, _, fused, _ = noted(run_warm_python, '{"optimizer": "fused"}')
    assert (notes["remarks"], fused) == ([], True)
    notes, _, _, foreach = noted(run_warm_python, '{"optimizer": "single"}')
    assert (notes["remarks"], foreach) == ([], False)


def test_what_the_program_says_itself_stays(run_warm_python: Callable[..., str], torch: ModuleType) -> None:
    notes, _, fused, foreach = noted(run_warm_python, '{"optimizer": "fused"}', more=", foreach=False")
    assert (notes["forms"], fused, foreach) == (["fused"], True, False)
    notes, _, fused, foreach = noted(run_warm_python, '{"optimizer": "single"}', more=", fused=True")
    assert (notes["forms"], fused, foreach) == ([], True, None)
    assert notes["remarks"] == ["not changed: the program sets foreach itself"]
    notes, *_ = noted(run_warm_python, '{"optimizer": "fused"}', optimizer="Rprop")
    assert notes["remarks"] == ["not changed: the optimizer has no fused"]


def test_measures_that_find_nothing_say_so(torch: ModuleType) -> None:
    measures = Measures({"checkpointing": [1, 2]})
    assert measures.notes()["remarks"] == ["not changed: no model repeats blocks that are not checkpointed yet"]


TRAINER = """
    import json, os, sys, torch
    parts = int(sys.argv[1])
    from oomph._measures import Measures
    from oomph._recorder import imports
    measures = Measures({"micro_batches": parts} if parts > 1 else {})
    imports.watch({}, measures.watched())
    import transformers
    transformers.logging.set_verbosity_error()
    torch.manual_seed(0)
    config = transformers.GPT2Config(vocab_size=64, n_positions=32, n_embd=16, n_layer=2, n_head=2,
                                     resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)
    rows = [torch.randint(0, 64, (16,)) for _ in range(28)]
    data = [{"input_ids": row, "labels": torch.where(torch.arange(16) < 4 + n % 12, row, -100)}
            for n, row in enumerate(rows)]
    class Seen(transformers.TrainerCallback):
        losses = []
        def on_log(self, args, state, control, logs=None, **more):
            self.losses += [(logs["loss"], logs["learning_rate"])] if "loss" in logs else []
    arguments = transformers.TrainingArguments(
        output_dir="out", per_device_train_batch_size=8, num_train_epochs=2, logging_steps=1, report_to=[],
        save_strategy="no", use_cpu=True, learning_rate=0.01, disable_tqdm=True)
    model = transformers.GPT2LMHeadModel(config)
    trainer = transformers.Trainer(model=model, args=arguments, train_dataset=data, callbacks=[Seen()])
    trainer.train()
    weight = model.transformer.wte.weight.detach()
    print(json.dumps([trainer.state.global_step, trainer.state.max_steps, Seen.losses, measures.notes(),
                      weight.flatten()[:50].tolist()]))
"""


def test_a_trainer_with_micro_batches_trains_the_same(run_warm_python: Callable[..., str], torch: ModuleType) -> None:
    import json

    pytest.importorskip("transformers")
    source = textwrap.dedent(TRAINER)
    whole, parts = (json.loads(run_warm_python(source, count).splitlines()[-1]) for count in ("1", "4"))
    # 28 rows in batches of 8: the last batch of an epoch has 4, and padding differs from row to row.
    assert whole[:2] == parts[:2] == [8, 8]
    assert whole[3] == parts[3] == {"remarks": [], "trainer_batch": 8, "counts_labels": True}
    for (loss, rate), (same_loss, same_rate) in zip(whole[2], parts[2], strict=True):
        assert (same_rate, same_loss) == (rate, pytest.approx(loss, rel=1e-4))
    assert parts[4] == pytest.approx(whole[4], abs=2e-4)


def test_a_batch_that_has_no_such_parts_is_left_alone(run_warm_python: Callable[..., str], torch: ModuleType) -> None:
    import json

    pytest.importorskip("transformers")
    notes = json.loads(run_warm_python(textwrap.dedent(TRAINER), "3").splitlines()[-1])[3]
    assert notes["remarks"] == ["not changed: a batch of 8 has no 3 equal parts"]


def test_a_trainer_goes_on_in_parts_from_a_checkpoint_of_whole_batches(
    run_warm_python: Callable[..., str], torch: ModuleType, tmp_path: pathlib.Path
) -> None:
    import json

    pytest.importorskip("transformers")
    saving = textwrap.dedent(TRAINER).replace('save_strategy="no"', 'save_strategy="steps", save_steps=3')
    saving = saving.replace("trainer.train()", "trainer.train(resume_from_checkpoint=sys.argv[2] or None)")
    saving = saving.replace("import transformers\n", "import transformers\ntransformers.logging.disable_progress_bar()\n")

    def trained(parts: str, checkpoint: str, folder: str) -> Any:
        source = saving.replace('"out"', repr(str(tmp_path / folder)))
        return json.loads(run_warm_python(source, parts, checkpoint).splitlines()[-1])

    whole = trained("1", "", "whole")
    # The third update is in the middle of an epoch.
    going_on = trained("4", str(tmp_path / "whole/checkpoint-3"), "parts")
    assert going_on[:2] == whole[:2] == [8, 8]
    assert going_on[4] == pytest.approx(whole[4], abs=2e-4)

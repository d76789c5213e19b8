"""Plans of scripts in the shapes that people copy from the documentation of the libraries they use.

The peaks are what plans gave, and none was measured on a card: a difference is a change to look at. The classes are by
arithmetic.
"""

from __future__ import annotations

import json
import pathlib
import subprocess
from typing import Any, NamedTuple

import pytest
from programs import Programs

SHAPES = pathlib.Path(__file__).parent / "shapes"
# A hub that is nowhere: names under `invalid` never lead to an address.
NO_HUB = "https://hub.invalid"


class Shape(NamedTuple):
    """A script with its words, the packages that it needs, and its peak; classes where arithmetic gives them."""

    script: str
    needs: str
    requested: int
    classes: dict[str, int] = {}
    words: tuple[str, ...] = ()


# GPT-2 of six blocks and an adapter of 147,456 numbers, which alone has Adam's two moments.
PEFT_LOOP = {"weights": (81_912_576 + 147_456) * 4, "optimizer_state": 2 * 147_456 * 4}
# Embeddings, head and norms of 32 bits, the four layers' matrices of 4, and the adapter's 65,536 numbers of 32. Their
# moments are of 8 bits, with a scale of 32 bits for each 256 and two tables of 256 numbers.
MATRICES = 4 * (4 * 512 * 512 + 3 * 512 * 1536)
QLORA = {
    "weights": (2 * 32000 * 512 + 9 * 512) * 4 + MATRICES // 2 + 65_536 * 4,
    "optimizer_state": 2 * (65_536 + 65_536 // 256 * 4 + 256 * 4),
}
# Eight matrices of 1024 × 4096 and their biases. bitsandbytes keeps two moments of 8 bits, with a scale of 32 bits for
# each 256 of them and two tables of 256 numbers; of 32 bits where a tensor has fewer than 4096 elements.
LAYERS = 8 * 1024 * 4096 + 4 * (4096 + 1024)
SMALL = 4 * 1024 * 8
IN_8_BITS = LAYERS - 4 * 1024
ADAM_8BIT = {
    "weights": LAYERS * 4,
    "gradients": LAYERS * 4,
    "optimizer_state": 2 * (IN_8_BITS + IN_8_BITS // 256 * 4 + 256 * 4) + SMALL,
}
# Only tensors of at least 100,000 elements are paged; the others are the biases.
PAGED = {"weights": LAYERS * 4, "gradients": LAYERS * 4, "optimizer_state": 2 * 4 * (4096 + 1024) * 4}
# The model, the model that it is compared with, and two moments for one of them.
LLAMA = (2 * 512 * 512 + 4 * (4 * 512 * 512 + 3 * 512 * 1408) + 9 * 512) * 4
DPO = {"weights": 2 * LLAMA}

long = pytest.mark.long
CASES = [
    pytest.param(Shape("nanogpt", "numpy", 967510336)),
    pytest.param(Shape("diffusion", "torch", 998171856)),
    pytest.param(Shape("vision_workers", "torchvision", 1594243392), marks=long),
    pytest.param(Shape("recipe", "transformers", 903950020), marks=long),
    pytest.param(Shape("lightning_validation", "pytorch_lightning", 36881456), marks=long),
    pytest.param(Shape("accelerate_accumulation", "accelerate transformers", 307933888), marks=long),
    pytest.param(Shape("peft_loop", "peft", 2958117900, PEFT_LOOP), marks=long),
    pytest.param(Shape("peft_trainer", "peft accelerate", 915286588), marks=long),
    pytest.param(Shape("qlora", "peft bitsandbytes", 239159184, QLORA), marks=long),
    pytest.param(Shape("eight_bit_adam", "bitsandbytes", 356223496, ADAM_8BIT), marks=long),
    pytest.param(Shape("eight_bit_adam", "bitsandbytes", 288161800, PAGED, ("paged",)), marks=long),
    pytest.param(Shape("quantize", "torchao", 100724736), marks=long),
    pytest.param(Shape("quantize", "torchao", 130088960, {}, ("float8",)), marks=long),
    pytest.param(Shape("trl_sft", "trl peft", 175793044), marks=long),
    pytest.param(Shape("trl_dpo", "trl", 301991220, DPO), marks=long),
    pytest.param(Shape("trl_reward", "trl", 267762740), marks=long),
    pytest.param(Shape("trl_grpo", "trl", 62133888), marks=long),
]


def plan(programs: Programs, *words: str, **variables: str) -> tuple[int, dict[str, Any], str]:
    options = ["--json", "--no-options", "--gpu", "A100-80", "--python", programs.warm_python]
    home = str(programs.folder / "home")
    environment = programs.environment(None)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_ETAG_TIMEOUT", "WANDB_MODE"):
        environment.pop(name, None)
    kept = {"OOMPH_PHANTOM_LIB": programs.phantom, "HF_ENDPOINT": NO_HUB, "HF_HOME": home, "TORCH_HOME": home}
    done = subprocess.run(
        [programs.oomph, "plan", *options, *words],
        cwd=programs.folder,
        env={**environment, **kept, **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.stdout, done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize("shape", CASES, ids=lambda shape: " ".join([shape.script, *shape.words]))
def test_a_script_is_planned_as_it_is(programs: Programs, shape: Shape) -> None:
    for package in shape.needs.split():
        pytest.importorskip(package, reason=f"{package} is not installed here")
    code, found, said = plan(programs, str(SHAPES / f"{shape.script}.py"), *shape.words)
    assert (code, found["fits"]) == (0, True), said
    assert "Traceback" not in said
    assert found["at"]["file"].endswith(f"{shape.script}.py"), found["at"]
    assert {name: found["by_class"].get(name) for name in shape.classes} == shape.classes
    assert found["peak_requested"] == shape.requested


@long
def test_what_is_generated_is_as_long_as_it_can_be(programs: Programs) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed here")
    code, found, said = plan(programs, str(SHAPES / "generate_after_training.py"))
    assert (code, found["peak_requested"]) == (0, 587534344), said
    assert "torch.Size([8, 64]) torch.Size([8, 64]) torch.Size([8, 32])" in said
    asked = ", ".join(f"generate_after_training.py:{line}" for line in ("15 (item)", "20 (bool)", "21 (bool)"))
    assert f"values that only a GPU computes were invented at {asked} and 1 more" in found["caveats"]


HUB = (
    "it needs the network: config.json of {} is not on this machine; download it where there is one (hf download) and set "
    "HF_HUB_OFFLINE=1, or build the model from its configuration: "
    'AutoModelForCausalLM.from_config(AutoConfig.from_pretrained("./folder"))'
)
DATA = (
    "it needs the network: the dataset {} is not on this machine; download it where there is one and set HF_HUB_OFFLINE=1, "
    "or give the script a stub with the same columns and lengths (datasets.Dataset.from_dict): a plan needs no true data"
)
ADDRESS = (
    "it needs the network: {} cannot be reached; fetch it where there is one and put it where the script looks, or plan "
    "without it: a plan needs no true weights (weights=None) and no true data"
)


def check_refusal(programs: Programs, script: str, why: str, **variables: str) -> None:
    code, found, said = plan(programs, script, **variables)
    assert code == 3, said
    assert found["why_not"] == f"the script failed before its first step: {why}"
    # Of the half minute that the hub's library would go on for, nothing is left.
    assert said.count("Retrying in") <= 3


@pytest.mark.parametrize("is_offline", [False, True], ids=["no network", "HF_HUB_OFFLINE=1"])
def test_a_model_of_the_hub_is_named(programs: Programs, is_offline: bool) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed here")
    variables = {"HF_HUB_OFFLINE": "1"} if is_offline else {}
    check_refusal(programs, str(SHAPES / "hub_model.py"), HUB.format("meta-llama/Llama-3.2-1B"), **variables)


@pytest.mark.parametrize("is_offline", [False, True], ids=["no network", "HF_HUB_OFFLINE=1"])
def test_a_dataset_of_the_hub_is_named(programs: Programs, is_offline: bool) -> None:
    pytest.importorskip("datasets", reason="datasets is not installed here")
    variables = {"HF_HUB_OFFLINE": "1"} if is_offline else {}
    check_refusal(programs, str(SHAPES / "hub_dataset.py"), DATA.format("stanfordnlp/imdb"), **variables)


ADDRESS_ASKED = "https://files.invalid/data.zip"


@pytest.mark.parametrize(
    "source",
    [
        f"import urllib.request\nurllib.request.urlretrieve('{ADDRESS_ASKED}', 'data.zip')",
        f"import torch\ntorch.hub.load_state_dict_from_url('{ADDRESS_ASKED}')",
        f"import requests\nrequests.get('{ADDRESS_ASKED}?version=1', timeout=9)",
        f"import subprocess\nsubprocess.run('wget -q {ADDRESS_ASKED} || exit 4', shell=True, check=True)",
    ],
    ids=["urllib", "torch.hub", "requests", "wget"],
)
def test_an_address_that_cannot_be_reached_is_named(programs: Programs, source: str) -> None:
    check_refusal(programs, str(programs.write(source)), ADDRESS.format(ADDRESS_ASKED))


def test_a_program_that_ends_by_itself_is_said_to(programs: Programs) -> None:
    script = programs.write("import os\nos._exit(7)")
    check_refusal(programs, str(script), "it ended by itself with exit code 7, and what it printed says why")


def test_invented_losses_are_logged_nowhere_unless_the_user_says_so(programs: Programs) -> None:
    source = 'import os, torch\ntorch.zeros(1, device="cuda")\nprint(os.environ["WANDB_MODE"])'
    script = str(programs.write(source))
    assert plan(programs, script)[2].splitlines()[0] == "disabled"
    assert plan(programs, script, WANDB_MODE="offline")[2].splitlines()[0] == "offline"


def test_paged_memory_is_not_the_cards_and_is_told(programs: Programs) -> None:
    source = """
        import ctypes, torch
        torch.zeros(1 << 20, device="cuda")
        cuda, place = ctypes.CDLL(None), ctypes.c_void_p()
        assert cuda.cudaMallocManaged(ctypes.byref(place), ctypes.c_size_t(32 << 20), 1) == 0
        assert cuda.cudaMemPrefetchAsync(place, ctypes.c_size_t(32 << 20), 0, None) == 0
        ctypes.memset(place, 7, 32 << 20)
        assert cuda.cudaFree(place) == 0
        """
    _, found, said = plan(programs, str(programs.write(source)))
    assert found["peak_requested"] == 4 << 20, said
    expected = "32.00 MiB are paged memory, which the driver moves to the host where the card is full: not counted"
    assert found["caveats"] == [expected]


def test_truth_that_one_side_decides_is_known(programs: Programs) -> None:
    source = """
        import torch
        unknown = torch.randn(100000, device="cuda")[:4] > 0
        yes, no = torch.full((4,), True, device="cuda"), torch.zeros(4, dtype=torch.long, device="cuda")
        print((unknown | yes).tolist(), (no & unknown).tolist(), bool(torch.logical_and(unknown, ~yes).any()))
        lengths = torch.full((4,), 9, device="cuda")
        lengths[unknown.any(dim=0, keepdim=True).expand(4)] = 3
        ends = torch.full((4,), 7, device="cuda")
        ends[unknown] = unknown.int().argmax(dim=0).expand(4)[unknown]
        lengths = lengths - 7 + ends
        print(lengths.tolist(), torch.ones(4, 6, device="cuda")[:, : unknown.sum()].shape)
        """
    _, _, said = plan(programs, str(programs.write(source)))
    assert said.splitlines()[:2] == [
        "[True, True, True, True] [0, 0, 0, 0] False",
        "[9, 9, 9, 9] torch.Size([4, 4])",
    ]

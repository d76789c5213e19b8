"""A model as its configuration makes it, for `oomph plan --serve`: built on the meta device, without weights.

    python served_model.py FOLDER

prints one JSON object: `parameters`, of these the numbers in matrices that quantisation takes (`linear`) and their `rows`, and
`layers`, one for each layer of the cache after a call of the model on a few tokens: `kind` (`full`, `sliding` or `state`),
`heads`, `per_token` and `fixed` (numbers a token and a sequence, keys and values together), `window`. Where the model cannot be
called, `layers` is null and `why` says why. Nothing is downloaded, and no code of the model's folder is run.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any

# Tokens of the call. More than one, so that a token's share of a layer can be told from what does not grow.
TOKENS = 8


def main(folder: str) -> None:
    """Prints what the model is. Warnings and progress go to standard error."""
    os.environ |= {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "TRANSFORMERS_VERBOSITY": "error", "CUDA_VISIBLE_DEVICES": ""}
    # What libraries print goes elsewhere: standard output is the answer.
    answer, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps(described(folder)), file=answer)


def described(folder: str) -> dict[str, Any]:
    """What the model is; `error` where it cannot be built."""
    try:
        import torch
        import transformers
    except ImportError as error:
        return {"error": f"{error.name} is not installed"}
    try:
        config = transformers.AutoConfig.from_pretrained(folder, trust_remote_code=False)
        # Layers that quantisation would replace are counted as they are without it.
        quantised = getattr(config, "quantization_config", None)
        if quantised is not None:
            del config.quantization_config
        # Attention in plain operations asks for no values, which the meta device does not have.
        kinds = {"dtype": torch.bfloat16, "attn_implementation": "eager"}
        with torch.device("meta"):
            model = transformers.AutoModelForCausalLM.from_config(config, **kinds).eval()
    except Exception as error:  # noqa: BLE001 (whatever it is, the answer is made from the configuration's fields)
        return {"error": first_line(error)}
    found = counted(model, left_out(quantised))
    try:
        found["layers"] = cache_layers(model)
    except Exception as error:  # noqa: BLE001
        found |= {"layers": None, "why": first_line(error)}
    return found


def left_out(quantised: Any) -> list[str]:
    """Names of modules that a configuration leaves out of quantisation, as patterns of `fnmatch`."""
    words = quantised if isinstance(quantised, dict) else getattr(quantised, "__dict__", {})
    names = [*(words.get("modules_to_not_convert") or []), *(words.get("ignore") or [])]
    return [f"*{name}*" for name in names if isinstance(name, str) and not name.startswith("re:")]


def counted(model: Any, kept: list[str]) -> dict[str, Any]:
    """Its parameters, tied ones once. Those whose names match `kept` are not quantised."""
    import fnmatch

    import torch

    tables = {id(module.weight) for module in model.modules() if isinstance(module, torch.nn.Embedding)}
    head = model.get_output_embeddings()
    tables |= {id(head.weight)} if head is not None else set()
    parameters = list(model.parameters())
    tables |= {id(one) for name, one in model.named_parameters() if any(fnmatch.fnmatch(name, pattern) for pattern in kept)}
    matrices = [one for one in parameters if one.dim() > 1 and id(one) not in tables]
    return {
        "parameters": sum(one.numel() for one in parameters),
        "linear": sum(one.numel() for one in matrices),
        "rows": sum(one.numel() // one.shape[-1] for one in matrices),
    }


def cache_layers(model: Any) -> list[dict[str, Any]]:
    """The layers of the cache that a call of the model fills."""
    import torch

    ids = torch.zeros(1, TOKENS, dtype=torch.long, device="meta")
    with torch.no_grad():
        out = model(input_ids=ids, use_cache=True)
    cache = out.get("past_key_values")
    return [layer_of(layer) for layer in (out["cache_params"] if cache is None else cache).layers]


def layer_of(layer: Any) -> dict[str, Any]:
    """One layer of the cache."""
    tensors = {name: value for name, value in tensors_of(layer).items() if value.dim() > 1}
    pair = [tensors.pop(name) for name in ("keys", "values") if name in tensors and tensors[name].numel()]
    grown = sum(one.numel() for one in pair)
    window = getattr(layer, "sliding_window", None)
    return {
        "kind": "state" if not pair else "sliding" if window else "full",
        "heads": pair[0].shape[1] if pair else 1,
        "per_token": grown // TOKENS,
        "fixed": sum(one.numel() for one in tensors.values()),
        "window": window,
    }


def tensors_of(layer: Any) -> dict[str, Any]:
    """The tensors that a layer of the cache holds, by the name of its field."""
    import torch

    found: dict[str, Any] = {}
    for name, value in vars(layer).items():
        inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, (list, tuple)) else [("", value)]
        found |= {f"{name}{key}": one for key, one in inner if isinstance(one, torch.Tensor)}
    return found


def first_line(error: Exception) -> str:
    """The first sentence of an exception."""
    lines = str(error).strip().splitlines() or [""]
    return f"{type(error).__name__}: {lines[0].split('. ')[0][:200]}"


if __name__ == "__main__":
    main(sys.argv[1])

"""LoRA: a model that is already trained stays as it is, and two thin matrices beside each of its linear layers are trained.
Users have to change their program for it, and it is another training, so it is only planned with: here the layers get what
peft gives them, with `LoraConfig(r=16, target_modules="all-linear")`."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Iterable
from typing import Any

# What a model's last layer is called where it sorts what it has seen into classes; it is trained as a whole.
_HEADS = ("score", "classifier")
_SCALE = 2.0


class Adapters:
    """Puts adapters beside the layers of the models of `transformers`, when their optimizer is made."""

    def __init__(self, torch: Any, rank: int, remarks: list[str]) -> None:
        self._torch = torch
        self._rank = rank
        self._remarks = remarks
        # In the order in which they were made: a model is made after its parts.
        self._models: list[weakref.ref[Any]] = []
        self._adapted: weakref.WeakSet[Any] = weakref.WeakSet()
        self.trained = 0
        self._before_optimizers()
        self._before_copies()

    def at_models(self, module: Any) -> None:
        """`transformers.modeling_utils` has been imported."""
        original = module.PreTrainedModel.__init__

        @functools.wraps(original)
        def init(model: Any, *args: Any, **kwargs: Any) -> None:
            original(model, *args, **kwargs)
            self._models.append(weakref.ref(model))

        module.PreTrainedModel.__init__ = init

    def _before_optimizers(self) -> None:
        original = self._torch.optim.Optimizer.__init__

        @functools.wraps(original)
        def init(optimizer: Any, params: Any, defaults: Any) -> None:
            original(optimizer, self._instead_of(list(params)), defaults)

        self._torch.optim.Optimizer.__init__ = init

    def _before_copies(self) -> None:
        """A model has to have its adapters before its gradients are exchanged."""
        copies = self._torch.nn.parallel.DistributedDataParallel
        original = copies.__init__

        @functools.wraps(original)
        def init(copy: Any, module: Any, *args: Any, **kwargs: Any) -> None:
            self._adapt_owners({id(parameter) for parameter in module.parameters()})
            original(copy, module, *args, **kwargs)

        copies.__init__ = init

    def _instead_of(self, params: list[Any]) -> list[Any]:
        """What an optimizer gets instead: of adapted models what is trained, the adapters first."""
        groups = [dict(each) for each in params] if params and isinstance(params[0], dict) else [{"params": params}]
        for group in groups:
            one = isinstance(group["params"], self._torch.Tensor)
            given = [group["params"]] if one else list(group["params"])
            # Some programs name them.
            group["params"] = [each[1] if isinstance(each, tuple) else each for each in given]
        had = {id(parameter) for group in groups for parameter in group["params"]}
        owners = self._adapt_owners(had)
        if not owners:
            return groups
        mine = {id(parameter) for model in owners for parameter in model.parameters()}
        for group in groups:
            group["params"] = [each for each in group["params"] if id(each) not in mine or each.requires_grad]
        groups[0]["params"] = [*_adapters(owners), *groups[0]["params"]]
        return groups

    def _adapt_owners(self, parameters: set[int]) -> list[Any]:
        """Adapts the models that these parameters are of."""
        models = [model for each in self._models if (model := each()) is not None]
        owners = [model for model in models if any(id(each) in parameters for each in model.parameters())]
        parts = {id(part) for model in owners for part in model.modules() if part is not model}
        outermost = [model for model in owners if id(model) not in parts]
        for model in outermost:
            if model not in self._adapted:
                self._adapt(model)
                self._adapted.add(model)
        return outermost

    def _adapt(self, model: Any) -> None:
        layers = list(self._layers(model))
        heads = [part for name, part in model.named_children() if name in _HEADS]
        model.requires_grad_(False)
        for head in heads:
            head.requires_grad_(True)
        for layer, inputs, outputs in layers:
            self._put_beside(layer, inputs, outputs)
        if layers and getattr(model, "is_gradient_checkpointing", False):
            model.enable_input_require_grads()
        self.trained += len(layers)
        if not layers:
            self._remarks.append("not changed: no linear layers that LoRA could be beside")

    def _layers(self, model: Any) -> Iterable[tuple[Any, int, int]]:
        """Linear layers with the lengths of what they take and give, but the last of the model."""
        outside = {id(part) for name, head in model.named_children() if name in _HEADS for part in head.modules()}
        outside.add(id(model.get_output_embeddings()))
        for part in model.modules():
            if id(part) in outside or not any(each.requires_grad for each in part.parameters(recurse=False)):
                continue
            if isinstance(part, self._torch.nn.Linear):
                yield part, part.in_features, part.out_features
            elif type(part).__name__ == "Conv1D" and type(part).__module__ == "transformers.pytorch_utils":
                yield part, *part.weight.shape

    def _put_beside(self, layer: Any, inputs: int, outputs: int) -> None:
        torch = self._torch
        # peft trains adapters of half numbers in whole ones.
        where = {"device": layer.weight.device, "dtype": torch.float32}
        layer.lora_A = torch.nn.Linear(inputs, self._rank, bias=False, **where)
        layer.lora_B = torch.nn.Linear(self._rank, outputs, bias=False, **where)
        layer.register_forward_hook(_with_adapter)


def _with_adapter(layer: Any, args: Any, output: Any) -> Any:
    """In the steps of peft's own layer, each of which has a result of its own."""
    taken = args[0].to(layer.lora_A.weight.dtype)
    return (output + layer.lora_B(layer.lora_A(taken)) * _SCALE).to(output.dtype)


def _adapters(models: list[Any]) -> list[Any]:
    return [
        each
        for model in models
        for part in model.modules()
        if hasattr(part, "lora_A")
        for each in (part.lora_A.weight, part.lora_B.weight)
    ]

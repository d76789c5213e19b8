//! What functions and methods of PyTorch do to a value.

use crate::names::last;
use crate::value::Facts;

/// What a method of a tensor gives.
pub(super) fn method(name: &str, of: Facts, has_arguments: bool) -> Facts {
    let tensor = of.only(Facts::OF_TENSOR);
    match name {
        _ if is_number(name) => Facts::NONE,
        "numpy" => Facts::HOST,
        "detach" | "detach_" => tensor.without(Facts::GRAPH.and(Facts::OWN)),
        "cpu" => tensor.without(Facts::GPU) | Facts::HOST,
        "argmax" | "argmin" | "multinomial" | "nonzero" | "sign" | "eq" | "ne" | "gt" | "lt" | "bincount"
        | "histc" | "unique" | "isnan" | "isfinite" | "topk" | "max" | "min" | "argsort"
            if name != "max" && name != "min" && name != "topk" =>
        {
            tensor.without(Facts::GRAPH.and(Facts::OWN).and(Facts::BULK))
        }
        "mean" | "sum" | "norm" | "max" | "min" | "amax" | "amin" | "std" | "var" | "median" | "prod"
        | "logsumexp" | "dot" | "count_nonzero"
            if !has_arguments || name == "dot" =>
        {
            tensor.without(Facts::BULK)
        }
        "float" | "half" | "bfloat16" => tensor.without(Facts::DOUBLE),
        "any" | "all" if !has_arguments => Facts::NONE,
        _ => tensor,
    }
}

/// Whether a method of a tensor gives a number, or nothing that holds memory.
pub(super) fn is_number(name: &str) -> bool {
    matches!(
        name,
        "item"
            | "tolist"
            | "size"
            | "dim"
            | "numel"
            | "element_size"
            | "is_contiguous"
            | "backward"
            | "data_ptr"
            | "storage"
            | "stride"
            | "get_device"
            | "nelement"
            | "type"
            | "is_floating_point"
            | "untyped_storage"
            | "dim_order"
    )
}

/// What an attribute of a tensor is, or of what a model gives.
pub(super) fn attribute(name: &str, of: Facts) -> Facts {
    match name {
        "shape" | "device" | "dtype" | "ndim" | "requires_grad" | "is_cuda" | "grad_fn" | "is_leaf"
        | "names" | "layout" | "is_sparse" => Facts::NONE,
        "data" => of.without(Facts::GRAPH.and(Facts::OWN)),
        "grad" => Facts::TENSOR.and(Facts::BULK).and(Facts::GPU).and(Facts::GRADIENT),
        "loss" => of.without(Facts::BULK),
        _ => of,
    }
}

/// What a function does that is known by its full name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// It makes a tensor; on the GPU where a device is given.
    Makes,
    /// It gives a tensor made from its arguments.
    Combines,
    /// It gives one number made from its arguments.
    Reduces,
    /// It gives indices or truth values.
    Indexes,
    /// It gives a container.
    Contains,
    /// It gives gradients.
    Takes,
    /// It gives what it is given: a copy, a wrapper.
    Passes,
    /// It gives a model.
    Builds,
    /// It gives a module whose calls give a loss.
    BuildsLoss,
    /// It gives an optimizer, or what schedules one.
    Optimizes,
    /// It gives a DataLoader.
    Loads,
    /// It gives an array of NumPy.
    Numbers,
    /// It gives nothing that matters.
    Nothing,
}

/// Containers that are made by a call.
const CONTAINERS: [&str; 14] = [
    "list",
    "dict",
    "set",
    "tuple",
    "deque",
    "defaultdict",
    "OrderedDict",
    "Queue",
    "SimpleQueue",
    "LifoQueue",
    "Counter",
    "sorted",
    "reversed",
    "PriorityQueue",
];

/// What is known of a function.
pub(super) fn known(full: &str) -> Option<Known> {
    let name = last(full);
    let is_torch = full.starts_with("torch.");
    let is_functional = full.contains("nn.functional.") || full.starts_with("F.");
    if is_functional || (is_torch && full.matches('.').count() == 1) {
        return Some(match name {
            "rand" | "randn" | "zeros" | "ones" | "empty" | "full" | "randint" | "arange" | "tensor"
            | "as_tensor" | "from_numpy" | "eye" | "linspace" | "rand_like" | "randn_like" | "zeros_like"
            | "ones_like" | "empty_like" | "full_like" | "randperm" | "normal" | "load" => Known::Makes,
            "argmax" | "argmin" | "multinomial" | "isnan" | "isfinite" | "nonzero" | "eq" | "bincount"
            | "equal" | "allclose" | "is_tensor" | "numel" | "one_hot"
                if name != "one_hot" =>
            {
                Known::Indexes
            }
            "cross_entropy"
            | "mse_loss"
            | "l1_loss"
            | "nll_loss"
            | "kl_div"
            | "binary_cross_entropy"
            | "binary_cross_entropy_with_logits"
            | "smooth_l1_loss"
            | "huber_loss"
            | "triplet_margin_loss"
            | "ctc_loss"
            | "cosine_embedding_loss"
            | "margin_ranking_loss"
            | "gaussian_nll_loss"
            | "poisson_nll_loss" => Known::Reduces,
            "device" | "no_grad" | "inference_mode" | "manual_seed" | "Generator" | "save" | "compile"
            | "Size" | "set_default_dtype" | "is_grad_enabled" | "finfo" | "autocast"
            | "set_grad_enabled"
                if name != "compile" =>
            {
                Known::Nothing
            }
            "compile" => Known::Passes,
            _ => Known::Combines,
        });
    }
    if CONTAINERS.contains(&name) {
        return Some(Known::Contains);
    }
    if full.contains("torch.nn.") || full.starts_with("nn.") {
        let is_class = name.starts_with(char::is_uppercase);
        return Some(match name {
            _ if name.ends_with("Loss") => Known::BuildsLoss,
            "Parameter" | "ParameterList" => Known::Passes,
            _ if is_class => Known::Builds,
            _ => Known::Nothing,
        });
    }
    if full.contains("torch.optim.") || full.contains("lr_scheduler") || full.starts_with("optim.") {
        return Some(Known::Optimizes);
    }
    Some(match full {
        "copy.deepcopy" | "copy.copy" | "deepcopy" => Known::Passes,
        "str" | "repr" | "int" | "float" | "len" | "print" | "bool" | "range" | "isinstance" | "type"
        | "format" | "round" | "abs" | "id" | "hash" | "open" | "getattr" | "hasattr" | "iter" | "next"
            if !matches!(full, "iter" | "next" | "abs" | "getattr") =>
        {
            Known::Nothing
        }
        "sum" | "max" | "min" | "abs" | "enumerate" | "zip" | "iter" | "next" | "map" | "filter"
        | "itertools.chain" => Known::Combines,
        "torch.utils.data.DataLoader" | "DataLoader" => Known::Loads,
        "torch.autograd.grad" | "autograd.grad" => Known::Takes,
        _ if full.starts_with("torchvision.models.") || full.contains("timm.create_model") => Known::Builds,
        _ if full.ends_with(".from_pretrained") || full.ends_with(".from_config") => {
            if full.contains("Token") || full.contains("Processor") || full.contains("Config") {
                Known::Nothing
            } else {
                Known::Builds
            }
        }
        _ if full.starts_with("transformers.") && (full.contains("Model") || full.contains("For")) => {
            if name.ends_with("Config") || name.ends_with("Arguments") {
                Known::Nothing
            } else {
                Known::Builds
            }
        }
        _ if full.starts_with("numpy.") => Known::Numbers,
        _ if name.ends_with("Cache") && full.starts_with("transformers.") => Known::Takes,
        _ if name.ends_with("LRScheduler") || name == "AveragedModel" || name == "SWALR" => Known::Optimizes,
        _ => return None,
    })
}

/// Names that people give to models.
pub(super) fn is_named_like_a_model(name: &str) -> bool {
    matches!(
        name,
        "model"
            | "net"
            | "network"
            | "module"
            | "encoder"
            | "decoder"
            | "generator"
            | "discriminator"
            | "critic"
            | "actor"
            | "policy"
            | "backbone"
            | "classifier"
            | "unet"
            | "teacher"
            | "student"
            | "transformer"
            | "llm"
            | "lm"
            | "ref_model"
            | "reference"
            | "reference_model"
            | "netG"
            | "netD"
            | "vae"
            | "bert"
            | "gpt"
    ) || name.ends_with("_model")
        || name.ends_with("_net")
}

/// Names that people give to functions that give a loss.
pub(super) fn is_named_like_a_loss(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    name.contains("loss")
        || name.contains("criterion")
        || matches!(&*name, "mse" | "bce" | "ce" | "crit" | "nll" | "objective")
}

/// Names of models that are only asked and not trained.
pub(super) fn is_named_like_a_reference(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let name = name.trim_start_matches('_');
    name == "teacher"
        || name.starts_with("teacher_") && !name.contains("out")
        || matches!(
            name,
            "reference"
                | "reference_model"
                | "ref_model"
                | "ref"
                | "target_net"
                | "target_network"
                | "target_model"
                | "target_q"
                | "momentum_encoder"
                | "key_encoder"
                | "ema_model"
                | "frozen"
                | "frozen_model"
                | "encoder_k"
                | "old_policy"
        )
}

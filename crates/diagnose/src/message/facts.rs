//! What a message says, as values.

use oomph_trace::Bytes;

/// The numbers of a message; `None` where it does not print one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts {
    /// The request that failed.
    pub tried: Option<Bytes>,
    /// The memory of the device, or the most the allocator may have.
    pub total: Option<Bytes>,
    /// What live tensors hold.
    pub allocated: Option<Bytes>,
    /// What the allocator holds from the device, free or not.
    pub reserved: Option<Bytes>,
    /// What the device had free.
    pub free: Option<Bytes>,
    /// What other processes hold, where the message lists them.
    pub other_process: Option<Bytes>,
    /// A limit set by the user.
    pub allowed: Option<Bytes>,
    /// Free memory inside private pools, which PyTorch counts as allocated.
    pub private_pools: Option<Bytes>,
    /// Memory that counts against the limit but is no tensor (MPS).
    pub other_allocations: Option<Bytes>,
    /// What this process holds in all, where printed.
    pub this_process: Option<Bytes>,
    /// The device's index.
    pub device: Option<u32>,
    /// The processes listed.
    pub processes: Vec<Process>,
}

impl Facts {
    /// Held by the allocator and not in use.
    pub fn cached(&self) -> Option<Bytes> {
        Some(self.reserved?.saturating_sub(self.allocated?))
    }

    /// In use on the device, but not by this allocator: contexts, libraries, other processes.
    pub fn outside(&self) -> Option<Bytes> {
        let held = self.reserved.or(self.allocated)? + self.free?;
        Some(self.total?.saturating_sub(held))
    }

    /// Takes what `other` says where this says nothing.
    pub(super) fn fill(&mut self, other: &Facts) {
        let pairs = [
            (&mut self.tried, other.tried),
            (&mut self.total, other.total),
            (&mut self.allocated, other.allocated),
            (&mut self.reserved, other.reserved),
            (&mut self.free, other.free),
            (&mut self.other_process, other.other_process),
            (&mut self.allowed, other.allowed),
        ];
        for (own, theirs) in pairs {
            *own = own.or(theirs);
        }
        self.device = self.device.or(other.device);
    }
}

/// A process in a message's list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id; `None` for "this process".
    pub pid: Option<u64>,
    /// What it holds.
    pub bytes: Bytes,
    /// Whether it is the one that wrote the message. In a container a process does not know its own id on the host
    /// and lists itself like any other.
    pub is_this: bool,
}

/// Who wrote the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the names say it")]
pub enum Framework {
    PyTorch,
    PyTorchXpu,
    PyTorchNpu,
    PyTorchCpu,
    PyTorchDataLoader,
    TensorFlow,
    Jax,
    Tpu,
    Vllm,
    Sglang,
    LlamaCpp,
    Ollama,
    ComfyUi,
    StableDiffusionWebUi,
    Mlx,
    OnnxRuntime,
    CuPy,
    Rmm,
    Numba,
    XgBoost,
    Paddle,
    MxNet,
    Numpy,
    Python,
    Cuda,
    Ray,
    LinuxOomKiller,
    Slurm,
    Kubernetes,
    Colab,
    System,
}

impl Framework {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        match self {
            Framework::PyTorch => "pytorch",
            Framework::PyTorchXpu => "pytorch-xpu",
            Framework::PyTorchNpu => "pytorch-npu",
            Framework::PyTorchCpu => "pytorch-cpu",
            Framework::PyTorchDataLoader => "pytorch-dataloader",
            Framework::TensorFlow => "tensorflow",
            Framework::Jax => "jax",
            Framework::Tpu => "tpu",
            Framework::Vllm => "vllm",
            Framework::Sglang => "sglang",
            Framework::LlamaCpp => "llama.cpp",
            Framework::Ollama => "ollama",
            Framework::ComfyUi => "comfyui",
            Framework::StableDiffusionWebUi => "stable-diffusion-webui",
            Framework::Mlx => "mlx",
            Framework::OnnxRuntime => "onnxruntime",
            Framework::CuPy => "cupy",
            Framework::Rmm => "rmm",
            Framework::Numba => "numba",
            Framework::XgBoost => "xgboost",
            Framework::Paddle => "paddle",
            Framework::MxNet => "mxnet",
            Framework::Numpy => "numpy",
            Framework::Python => "python",
            Framework::Cuda => "cuda",
            Framework::Ray => "ray",
            Framework::LinuxOomKiller => "linux-oom-killer",
            Framework::Slurm => "slurm",
            Framework::Kubernetes => "kubernetes",
            Framework::Colab => "colab",
            Framework::System => "system",
        }
    }

    /// Whether PyTorch's allocator is underneath.
    pub const fn is_pytorch(self) -> bool {
        matches!(
            self,
            Framework::PyTorch
                | Framework::PyTorchXpu
                | Framework::PyTorchNpu
                | Framework::Vllm
                | Framework::Sglang
                | Framework::ComfyUi
                | Framework::StableDiffusionWebUi
        )
    }
}

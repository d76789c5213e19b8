//! The flags of `oomph plan --serve`.

use std::path::PathBuf;

use clap::Args as ClapArgs;
use oomph_diagnose::serve::model::Precision;

/// More tokens or sequences than anybody has.
const MOST: u64 = 1 << 27;

/// What belongs to a script.
const NOT_SERVED: [&str; 11] =
    ["command", "module", "code", "limit", "nproc", "rank", "settings", "vary", "options", "steps", "html"];

#[derive(ClapArgs, Clone, Debug)]
pub(crate) struct Serve {
    /// Instead of a script, a model to serve: its config.json, or the folder that has it
    #[arg(long, value_name = "CONFIG", conflicts_with_all = NOT_SERVED, help_heading = "Serving")]
    pub(crate) serve: Option<PathBuf>,
    /// What its weights are in: fp32, bf16, fp16, fp8, int8, int4 [default: as CONFIG says]
    #[arg(long, value_name = "TYPE", requires = "serve", value_parser = precision, help_heading = "Serving")]
    pub(crate) dtype: Option<Precision>,
    /// What its cache is in, such as fp8 [default: as it computes]
    #[arg(long, value_name = "TYPE", requires = "serve", value_parser = cached, help_heading = "Serving")]
    pub(crate) kv_dtype: Option<Precision>,
    /// Tokens of a sequence, prompt and answer [default: 4096]
    #[arg(long, value_name = "N", requires = "serve", value_parser = clap::value_parser!(u64).range(1..=MOST), help_heading = "Serving")]
    pub(crate) context: Option<u64>,
    /// Sequences at a time [default: as many as fit]
    #[arg(long, value_name = "N", requires = "serve", value_parser = clap::value_parser!(u64).range(1..=MOST), help_heading = "Serving")]
    pub(crate) sequences: Option<u64>,
    /// Cards that each layer is divided among [default: 1]
    #[arg(long, value_name = "N", requires = "serve", value_parser = clap::value_parser!(u64).range(1..=64), help_heading = "Serving")]
    pub(crate) tensor_parallel: Option<u64>,
    /// The share of a card that may be used, as vLLM's --gpu-memory-utilization [default: 0.9]
    #[arg(long, value_name = "SHARE", requires = "serve", value_parser = share, help_heading = "Serving")]
    pub(crate) utilization: Option<f64>,
}

impl Serve {
    /// A flag that means nothing without `--serve`, where one is given so. Clap says so only where there is no script.
    pub(crate) fn lost(&self) -> Option<&'static str> {
        let given = [
            (self.dtype.is_some(), "--dtype"),
            (self.kv_dtype.is_some(), "--kv-dtype"),
            (self.context.is_some(), "--context"),
            (self.sequences.is_some(), "--sequences"),
            (self.tensor_parallel.is_some(), "--tensor-parallel"),
            (self.utilization.is_some(), "--utilization"),
        ];
        given.into_iter().find(|(is_given, _)| *is_given && self.serve.is_none()).map(|(_, flag)| flag)
    }
}

fn precision(text: &str) -> Result<Precision, String> {
    Precision::from_name(text).ok_or_else(|| {
        let names: Vec<&str> = Precision::ALL.iter().map(|one| one.name()).collect();
        format!("write one of {}", names.join(", "))
    })
}

fn cached(text: &str) -> Result<Precision, String> {
    precision(text)
        .ok()
        .filter(|found| *found != Precision::Int4)
        .ok_or_else(|| "write one of fp32, bf16, fp16, fp8, int8".to_owned())
}

fn share(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "write a share such as 0.9".to_owned())
}

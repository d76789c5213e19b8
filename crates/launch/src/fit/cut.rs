//! How a batch is cut into parts: through the script's own flags, or the arguments of whoever runs its loop.

use std::ffi::OsString;

use oomph_trace::sidecar::MeasureNotes;
use serde::{Deserialize, Serialize};

use crate::measures::Measures;
use crate::plan::vary;

/// How a batch is cut.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Cut {
    /// The whole batch.
    pub(super) batch: u32,
    /// The greatest number of parts; its divisors are the others.
    most: u32,
    way: Way,
}

/// Who is told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum Way {
    /// The script, by its flags for the batch and for accumulation.
    Flags(String, String),
    /// The Trainer of transformers.
    Trainer,
    /// The Trainer of Lightning.
    Lightning,
    /// accelerate; the loop's DataLoader is the one that was prepared after so many others.
    Accelerate(u32),
}

impl Cut {
    /// By what the script told when it ran as it is, and by the flags that the user named.
    pub(super) fn of(notes: &MeasureNotes, args: &[OsString], flags: Option<(&str, &str)>) -> Option<Cut> {
        let by_flags = flags.and_then(|(batch, accumulate)| {
            let value = vary::value_of(args, batch)?.try_into().ok()?;
            let way = Way::Flags(batch.to_owned(), accumulate.to_owned());
            Some(Cut { batch: value, most: value, way })
        });
        let by_loop = || {
            let batch = notes.trainer_batch?;
            let way = match notes.framework_loop.as_deref() {
                None => notes.counts_labels.then_some(Way::Trainer)?,
                Some("lightning") => Way::Lightning,
                Some("accelerate") => Way::Accelerate(notes.loader?),
                Some(_) => return None,
            };
            Some(Cut { batch, most: notes.equal_parts.unwrap_or(batch), way })
        };
        by_flags.or_else(by_loop).filter(|cut| cut.most > 1 && !notes.batch_norm)
    }

    /// The numbers of parts that there are, 1 among them.
    pub(super) fn parts(&self) -> Vec<u32> {
        (1..=self.most).filter(|parts| self.most.is_multiple_of(*parts)).collect()
    }

    /// The greatest of them.
    pub(super) fn most(&self) -> u32 {
        self.most
    }

    /// Whether a job that goes on from a checkpoint can be cut otherwise than before: Trainer counts updates, others the
    /// batches of an epoch.
    pub(super) fn goes_on(&self) -> bool {
        self.way == Way::Trainer
    }

    /// Whether it has to be shown that the mean of the parts is the batch's. Trainer counts labels over the whole batch;
    /// who names flags knows the script.
    pub(super) fn needs_proof(&self) -> bool {
        matches!(self.way, Way::Lightning | Way::Accelerate(_))
    }

    /// What the process is asked to do for so many parts.
    pub(super) fn asked(&self, parts: u32) -> Measures {
        let is_told = !matches!(self.way, Way::Flags(..));
        Measures {
            micro_batches: (is_told && parts > 1).then_some(parts),
            loader: match self.way {
                Way::Accelerate(loader) => Some(loader),
                Way::Flags(..) | Way::Trainer | Way::Lightning => None,
            },
            equal_labels: parts > 1 && self.needs_proof(),
            ..Measures::default()
        }
    }

    /// The script's arguments for so many parts.
    pub(super) fn args(&self, parts: u32, args: &[OsString]) -> Vec<OsString> {
        let Way::Flags(flag, accumulate) = &self.way else { return args.to_vec() };
        if parts <= 1 {
            return args.to_vec();
        }
        let had = vary::value_of(args, accumulate).unwrap_or(1);
        let args = vary::with_value(args, flag, u64::from(self.batch / parts));
        vary::with_value(&args, accumulate, had * u64::from(parts))
    }

    /// How one would write it oneself.
    pub(super) fn instruction(&self, parts: u32) -> String {
        let micro = self.batch / parts;
        match &self.way {
            Way::Flags(flag, accumulate) => format!("{flag} {micro} {accumulate} {parts}"),
            Way::Trainer => {
                format!("per_device_train_batch_size={micro} gradient_accumulation_steps={parts}")
            }
            Way::Lightning => {
                format!("DataLoader(batch_size={micro}) Trainer(accumulate_grad_batches={parts})")
            }
            Way::Accelerate(_) => {
                format!("DataLoader(batch_size={micro}) Accelerator(gradient_accumulation_steps={parts})")
            }
        }
    }
}

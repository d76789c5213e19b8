//! The answers: a model on each of the cards in question.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Result;
use oomph_diagnose::results::serve::ServeResult;
use oomph_diagnose::serve::model::{Precision, ServedModel};
use oomph_diagnose::serve::room::Setup;
use oomph_trace::cards::{CARDS, Card, card_named};

use super::fields::{ConfigError, Fields};
use super::{built, model};
use crate::plan::cards::{FIRST_COMMUNICATOR, with_memory};
use crate::plan::planner::{Cards, RequestError};

/// The length of a sequence where nothing is said.
const USUAL: u64 = 4096;

/// A question: how many sequences of this model fit?
#[derive(Clone, Debug)]
pub struct ServeRequest {
    /// Its config.json, or the folder that has it.
    pub config: PathBuf,
    /// The cards in question.
    pub cards: Cards,
    /// What its weights are in; `None`: as the configuration says.
    pub weights: Option<Precision>,
    /// What its cache is in; `None`: as it computes.
    pub cache: Option<Precision>,
    /// Tokens of a sequence; `None`: 4096, or fewer if the model was made for fewer.
    pub context: Option<u64>,
    /// Sequences; `None`: as many as fit.
    pub sequences: Option<u64>,
    /// Cards that each layer is divided among.
    pub tensor_parallel: u64,
    /// The share of a card that may be used.
    pub utilization: f64,
    /// The interpreter, where the user insists on one.
    pub python: Option<PathBuf>,
    /// How long building the model may take.
    pub longest: Duration,
}

/// The answers, in the order asked for; those of the table by their memory.
pub fn serve(request: &ServeRequest) -> Result<Vec<ServeResult>> {
    let cards = cards(&request.cards)?;
    let model = read(request)?;
    Ok(cards.iter().map(|card| ServeResult::of(&model, &setup(request, &model, card), card)).collect())
}

fn cards(asked: &Cards) -> Result<Vec<Card>, RequestError> {
    match asked {
        Cards::Named(names) => names.iter().map(|name| Ok(card_named(name)?.clone())).collect(),
        Cards::Memory(total, capability) => Ok(vec![with_memory(*total, *capability)]),
        Cards::All => {
            let mut all = CARDS.to_vec();
            all.sort_by_key(|card| card.total);
            Ok(all)
        }
    }
}

/// The model: built where that is possible, else by its fields.
fn read(request: &ServeRequest) -> Result<ServedModel, ConfigError> {
    let fields = Fields::read(&request.config)?;
    let mut served = model::model(&fields);
    let built = built::improve(&mut served, &fields.path, request.python.as_deref(), request.longest);
    if let Err(why) = built {
        let why = why.trim_end_matches('.');
        served.remarks.push(if served.parameters == 0 || served.layers.is_empty() {
            format!("the model could not be built either ({why})")
        } else {
            format!(
                "the model could not be built ({why}): its weights are counted from the configuration's fields, without \
                 biases and norms; that may be some percent off, more where the architecture is unusual"
            )
        });
    }
    if served.parameters == 0 {
        served.remarks.insert(0, "the configuration does not tell how many parameters there are".to_owned());
    }
    let is_known = served.parameters > 0 && !served.layers.is_empty();
    if is_known && request.weights.is_none() {
        served.remarks.extend(model::remarks(&fields));
    }
    if is_known && served.precision == Precision::Fp32 && request.weights.is_none() {
        served.remarks.push(
            "the configuration says fp32; servers take such models in 16 bits: --dtype bf16".to_owned(),
        );
    }
    Ok(served)
}

fn setup(request: &ServeRequest, model: &ServedModel, card: &Card) -> Setup {
    let weights = request.weights.unwrap_or(model.precision);
    let computed = if weights == Precision::Fp32 { Precision::Fp32 } else { Precision::Bf16 };
    Setup {
        weights,
        cache: request.cache.unwrap_or(computed),
        context: request.context.unwrap_or_else(|| model.longest.unwrap_or(USUAL).clamp(1, USUAL)),
        sequences: request.sequences,
        cards: request.tensor_parallel,
        utilization: request.utilization,
        context_bytes: card.context.most,
        nccl_bytes: FIRST_COMMUNICATOR,
    }
}

//! The model as the user's own transformers builds it: in a process of its own, without weights.

use std::ffi::OsString;
use std::path::Path;
use std::process::Command;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use oomph_diagnose::serve::model::{CacheKind, CacheLayers, KnownBy, ServedModel};
use serde::Deserialize;

use super::layers::{MOST, grouped};
use crate::captured::{self, Captured};
use crate::program::{Program, Target};

/// The program that builds it.
const PROGRAM: &str = include_str!("../../../../../python/oomph/_plan/served_model.py");
/// Numbers above these are no model's: what is computed of them stays a number.
const MOST_PARAMETERS: u64 = 1 << 50;
const MOST_A_TOKEN: u64 = 1 << 20;
const MOST_A_SEQUENCE: u64 = 1 << 36;

/// What it prints.
#[derive(Debug, Default, Deserialize)]
struct Built {
    error: Option<String>,
    why: Option<String>,
    #[serde(default)]
    parameters: u64,
    #[serde(default)]
    linear: u64,
    #[serde(default)]
    rows: u64,
    layers: Option<Vec<Layer>>,
}

/// A layer of the cache.
#[derive(Debug, Deserialize)]
struct Layer {
    kind: String,
    heads: u64,
    per_token: u64,
    fixed: u64,
    window: Option<u64>,
}

/// Puts what transformers builds of this configuration in the place of what its fields say. `Err` says why it cannot.
pub(super) fn improve(
    model: &mut ServedModel,
    config: &Path,
    python: Option<&Path>,
    longest: Duration,
) -> Result<(), String> {
    let built = build(config, python, longest)?;
    if let Some(error) = built.error {
        return Err(error);
    }
    if built.parameters == 0 || built.parameters > MOST_PARAMETERS || built.linear > built.parameters {
        return Err("it says that the model has no parameters".to_owned());
    }
    (model.parameters, model.linear, model.rows) =
        (built.parameters, built.linear, built.rows.min(built.linear));
    model.known_by = KnownBy::Built;
    match built.layers.and_then(kept) {
        Some(layers) => keep(model, layers),
        None => model.remarks.push(format!(
            "the model could be built but not called ({}): what its layers keep is known from the configuration's fields",
            built.why.unwrap_or_default()
        )),
    }
    Ok(())
}

/// What the layers of the model's own cache keep, where a model can have that.
fn kept(layers: Vec<Layer>) -> Option<Vec<CacheLayers>> {
    let one = |layer: Layer| {
        let is_possible = layer.per_token <= MOST_A_TOKEN && layer.fixed <= MOST_A_SEQUENCE;
        let kind = CacheKind::from_name(&layer.kind).filter(|_| is_possible)?;
        let heads = layer.heads.clamp(1, layer.per_token.max(1));
        let window = layer.window.filter(|window| *window <= MOST_A_TOKEN);
        Some(CacheLayers { count: 1, kind, heads, per_token: layer.per_token, fixed: layer.fixed, window })
    };
    let all = layers.into_iter().map(one).collect::<Option<Vec<CacheLayers>>>()?;
    (!all.is_empty() && all.len() as u64 <= MOST).then(|| grouped(all))
}

/// Takes these layers. Of a model with latents, servers keep those; older versions of transformers keep what they make of them.
fn keep(model: &mut ServedModel, layers: Vec<CacheLayers>) {
    let latent =
        model.layers.iter().find(|layers| layers.kind == CacheKind::Latent).map(|layers| layers.per_token);
    let Some(latent) = latent else {
        if model.layers.is_empty() {
            // What the fields do not tell is known now.
            model.remarks.clear();
        }
        model.layers = layers;
        return;
    };
    let expanded: u64 = layers.iter().map(|layers| layers.count * layers.per_token).sum();
    let kept: u64 = model.layers.iter().map(|layers| layers.count * layers.per_token).sum();
    if expanded > kept && latent > 0 {
        model.remarks.push(format!(
            "servers keep latents; generate() of this transformers keeps keys and values, {} times as much",
            expanded / kept
        ));
    }
}

/// What the program prints, once it has ended.
fn build(config: &Path, python: Option<&Path>, longest: Duration) -> Result<Built, String> {
    let args = [OsString::from(config)];
    let program =
        Program::find(&Target::Code(PROGRAM.into()), &args, python).map_err(|error| error.to_string())?;
    let mut command = Command::new(&program.path);
    let running = Captured::start(command.args(&program.args), None).map_err(|error| error.to_string())?;
    let group = running.group();
    let (done, ended) = mpsc::channel::<()>();
    let watch = thread::spawn(move || {
        let is_late = ended.recv_timeout(longest) == Err(mpsc::RecvTimeoutError::Timeout);
        if is_late {
            captured::end(&[group]);
        }
        is_late
    });
    let output = running.wait().map_err(|error| error.to_string());
    drop(done);
    if watch.join().unwrap_or(false) {
        return Err(format!("it was not built within {} s", longest.as_secs()));
    }
    let output = output?;
    serde_json::from_slice(&output.stdout).map_err(|_| {
        let words = String::from_utf8_lossy(&output.stderr).into_owned();
        words.lines().last().map_or_else(|| "Python ended without a word".to_owned(), ToOwned::to_owned)
    })
}

//! The fields of a model's configuration, by the names that models give them. A configuration is foreign: numbers that no model
//! has are not read.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use oomph_diagnose::serve::model::Precision;
use serde_json::Value;

/// The longest configuration that is read.
const LONGEST: u64 = 16 << 20;
/// The greatest width, length of a list or count of experts: what is computed of them stays a number.
const GREATEST: u64 = 1 << 20;

/// A configuration that is none.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is not there.
    #[error("{0}: {1}")]
    Unreadable(String, std::io::Error),
    /// It is something else.
    #[error(
        "{0}: not a model's configuration: name a config.json of Hugging Face, or the folder that has it{1}"
    )]
    Other(String, &'static str),
}

/// A configuration.
#[derive(Debug)]
pub(super) struct Fields {
    /// The file.
    pub(super) path: PathBuf,
    whole: Value,
}

impl Fields {
    /// Reads a config.json, or the one in a folder.
    pub(super) fn read(path: &Path) -> Result<Fields, ConfigError> {
        let path = if path.is_dir() { path.join("config.json") } else { path.to_path_buf() };
        let shown = path.display().to_string();
        let mut text = String::new();
        let read = File::open(&path).and_then(|file| file.take(LONGEST).read_to_string(&mut text));
        match read {
            Err(error) if error.kind() == std::io::ErrorKind::InvalidData => {
                return Err(ConfigError::Other(shown, ""));
            }
            Err(error) => return Err(ConfigError::Unreadable(shown, error)),
            Ok(_) => {}
        }
        let whole: Value = serde_json::from_str(&text)
            .map_err(|_| ConfigError::Other(shown.clone(), " (it is not JSON)"))?;
        let fields = Fields { path, whole };
        if fields.word("model_type").is_none() && fields.number(&["vocab_size"]).is_none() {
            return Err(ConfigError::Other(shown, " (it has no model_type)"));
        }
        Ok(fields)
    }

    /// A configuration as a test writes it.
    #[cfg(test)]
    pub(super) fn of(whole: Value) -> Fields {
        Fields { path: PathBuf::from("config.json"), whole }
    }

    /// The name of the folder it lies in, or of the file.
    pub(super) fn name(&self) -> String {
        let full = fs::canonicalize(&self.path).unwrap_or_else(|_| self.path.clone());
        let named = match full.file_stem() {
            Some(stem) if stem != "config" => Some(stem),
            _ => full.parent().and_then(Path::file_name),
        };
        named.map_or_else(|| "the model".to_owned(), |name| name.to_string_lossy().into_owned())
    }

    /// A field: of the part about text, where there is one and it has it.
    pub(super) fn value(&self, name: &str) -> Option<&Value> {
        let parts =
            ["text_config", "llm_config", "language_config"].iter().filter_map(|part| self.whole.get(part));
        let found = parts.chain([&self.whole]).find_map(|part| part.get(name));
        found.filter(|value| !value.is_null())
    }

    /// The first of these that is a number which a model may have.
    pub(super) fn number(&self, names: &[&str]) -> Option<u64> {
        let number = |name: &&str| self.value(name)?.as_u64().filter(|number| *number <= GREATEST);
        names.iter().find_map(number)
    }

    pub(super) fn word(&self, name: &str) -> Option<&str> {
        self.value(name)?.as_str()
    }

    pub(super) fn flag(&self, name: &str) -> Option<bool> {
        self.value(name)?.as_bool()
    }

    /// What the configuration says that layers are.
    pub(super) fn layer_types(&self) -> Option<Vec<&str>> {
        let types = self.value("layer_types")?.as_array()?;
        types.iter().map(Value::as_str).collect()
    }

    /// What the weights are in.
    pub(super) fn precision(&self) -> Option<Precision> {
        let plain = self.word("dtype").or_else(|| self.word("torch_dtype")).and_then(Precision::from_name);
        match self.value("quantization_config") {
            Some(quantised) => Some(quantisation(quantised)?),
            None => plain,
        }
    }

    /// Whether weights are in the format of gpt-oss.
    pub(super) fn is_mxfp4(&self) -> bool {
        let method = self.value("quantization_config").and_then(|config| config.get("quant_method"));
        method.and_then(Value::as_str) == Some("mxfp4")
    }

    /// Whether it says that weights are quantised.
    pub(super) fn is_quantised(&self) -> bool {
        self.value("quantization_config").is_some()
    }
}

/// What quantised weights are in.
fn quantisation(config: &Value) -> Option<Precision> {
    let flag = |name: &str| config.get(name).and_then(Value::as_bool) == Some(true);
    let method = config.get("quant_method").and_then(Value::as_str).unwrap_or_default();
    let weights = config
        .get("config_groups")
        .and_then(Value::as_object)
        .and_then(|groups| groups.values().find_map(|group| group.get("weights")));
    let bits = weights.and_then(|weights| weights.get("num_bits")).or_else(|| config.get("bits"));
    let is_float = weights.and_then(|weights| weights.get("type")).and_then(Value::as_str) == Some("float");
    match (method, bits.and_then(Value::as_u64)) {
        ("fp8" | "fbgemm_fp8", _) => Some(Precision::Fp8),
        ("mxfp4", _) | (_, Some(4)) => Some(Precision::Int4),
        (_, Some(8)) if is_float => Some(Precision::Fp8),
        (_, Some(8)) => Some(Precision::Int8),
        _ if flag("load_in_4bit") => Some(Precision::Int4),
        _ if flag("load_in_8bit") => Some(Precision::Int8),
        _ => None,
    }
}

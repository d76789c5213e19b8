//! What is found of a run beside its flags: by variables such as OOMPH_LIMIT, and by `[tool.oomph.run]` of
//! pyproject.toml, under the same names.

use std::fs;
use std::path::{Path, PathBuf};

use oomph_trace::Bytes;
use oomph_trace::spelling::nearest;
use toml::{Table, Value};

/// What may be found of a run; what is `None` is not found for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Configuration {
    /// PyTorch's settings; later ones count.
    pub set: Vec<String>,
    /// The memory to run with.
    pub limit: Option<Bytes>,
    /// The card whose memory to run with.
    pub gpu: Option<String>,
    /// How many events are kept.
    pub ring: Option<u64>,
    /// Whether to run once more with settings that help.
    pub retry: Option<bool>,
    /// Whether to record at all.
    pub record: Option<bool>,
    /// The interpreter.
    pub python: Option<PathBuf>,
    /// Whether JAX takes the card at once.
    pub preallocate: Option<bool>,
    /// How much of it.
    pub mem_fraction: Option<f64>,
    /// Whether TensorFlow takes memory as it goes.
    pub growth: Option<bool>,
    /// Whether TensorFlow uses CUDA's own allocator.
    pub async_allocator: Option<bool>,
}

/// The keys of the table.
const KEYS: &[&str] = &[
    "async-allocator",
    "gpu",
    "growth",
    "limit",
    "mem-fraction",
    "preallocate",
    "python",
    "record",
    "retry",
    "ring",
    "set",
];

/// Variables of oomph's own that ask for nothing.
const OTHERS: &[&str] = &["bless", "parent", "phantom", "run"];

/// What a variable of each key is called after.
const PREFIX: &str = "OOMPH_";

/// What is wrong with what is found for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// The file is not valid TOML; it may have nothing for oomph.
    #[error("{path}: cannot be read: {reason}")]
    Unreadable {
        /// The file.
        path: String,
        /// The first line of what the reader said.
        reason: String,
    },
    /// No such key.
    #[error("{path}: [tool.oomph{table}] has no key `{key}`{hint}")]
    UnknownKey {
        /// The file.
        path: String,
        /// `.run`, or nothing.
        table: &'static str,
        /// As written.
        key: String,
        /// What was meant, or nothing.
        hint: String,
    },
    /// A variable that is most likely misspelt.
    #[error("no setting is called {name}, did you mean {near}?")]
    UnknownVariable {
        /// As it is set.
        name: String,
        /// What was meant.
        near: String,
    },
    /// A variable with a value of the wrong kind.
    #[error("{name}={value}: {expected}")]
    BadVariable {
        /// The variable.
        name: String,
        /// What it is set to.
        value: String,
        /// What it has to be.
        expected: String,
    },
    /// Not a value of the right kind.
    #[error("{path}: [tool.oomph.run] {key}: {expected}")]
    BadValue {
        /// The file.
        path: String,
        /// The key.
        key: String,
        /// What it has to be.
        expected: String,
    },
}

impl Configuration {
    /// What variables ask for. One that is nearly called like a setting is an error; others may be anybody's.
    pub fn of_variables(
        variables: impl Iterator<Item = (String, String)>,
    ) -> Result<Configuration, ConfigurationError> {
        let mut found = Configuration::default();
        let mut ours: Vec<(String, String)> =
            variables.filter(|(name, value)| name.starts_with(PREFIX) && !value.is_empty()).collect();
        ours.sort();
        for (name, value) in ours {
            let key = name[PREFIX.len()..].to_lowercase().replace('_', "-");
            if KEYS.contains(&key.as_str()) {
                found
                    .take(&key, &plain(&key, &value))
                    .map_err(|expected| ConfigurationError::BadVariable { name, value, expected })?;
            } else if let Some(near) =
                nearest(&key, KEYS.iter().copied()).filter(|_| !OTHERS.contains(&key.as_str()))
            {
                let near = near.to_uppercase().replace('-', "_");
                return Err(ConfigurationError::UnknownVariable { name, near: format!("{PREFIX}{near}") });
            }
        }
        Ok(found)
    }

    /// What the nearest pyproject.toml asks for: the directory's own or that of a folder above it.
    pub fn of_project(directory: &Path) -> Result<Configuration, ConfigurationError> {
        let file =
            directory.ancestors().map(|folder| folder.join("pyproject.toml")).find(|file| file.is_file());
        let Some(file) = file else { return Ok(Configuration::default()) };
        let path = file.display().to_string();
        match fs::read_to_string(&file) {
            Ok(text) => Configuration::read(&text, &path),
            Err(error) => Err(ConfigurationError::Unreadable { path, reason: error.to_string() }),
        }
    }

    /// Reads the text of a pyproject.toml.
    fn read(text: &str, path: &str) -> Result<Configuration, ConfigurationError> {
        let project: Table =
            text.parse().map_err(|error: toml::de::Error| ConfigurationError::Unreadable {
                path: path.to_owned(),
                reason: error.message().lines().next().unwrap_or_default().to_owned(),
            })?;
        let ours = project.get("tool").and_then(|tool| tool.get("oomph")).and_then(Value::as_table);
        let unknown = |table, key: &str, hint| ConfigurationError::UnknownKey {
            path: path.to_owned(),
            table,
            key: key.to_owned(),
            hint,
        };
        // A table may belong to another verb; a plain key belongs to none.
        if let Some((key, _)) = ours.into_iter().flatten().find(|(_, value)| !value.is_table()) {
            let hint = nearest(key, KEYS.iter().copied())
                .map_or_else(String::new, |near| format!(", did you mean `{near}` in [tool.oomph.run]?"));
            return Err(unknown("", key, hint));
        }
        let mut found = Configuration::default();
        let run = ours.and_then(|ours| ours.get("run")).and_then(Value::as_table);
        for (key, value) in run.into_iter().flatten() {
            if !KEYS.contains(&key.as_str()) {
                let near = nearest(key, KEYS.iter().copied());
                let hint = near.map_or_else(String::new, |near| format!(", did you mean `{near}`?"));
                return Err(unknown(".run", key, hint));
            }
            found.take(key, value).map_err(|expected| ConfigurationError::BadValue {
                path: path.to_owned(),
                key: key.clone(),
                expected,
            })?;
        }
        Ok(found)
    }

    fn take(&mut self, key: &str, value: &Value) -> Result<(), String> {
        let text = || value.as_str().map(str::to_owned).ok_or_else(|| "write a text in quotes".to_owned());
        let yes = || value.as_bool().map(Some).ok_or_else(|| "write true or false".to_owned());
        match key {
            "set" => {
                let list = value.as_array().map_or_else(|| vec![value.clone()], Clone::clone);
                let texts: Option<Vec<String>> =
                    list.iter().map(|item| item.as_str().map(str::to_owned)).collect();
                self.set = texts.ok_or("write \"KEY:VALUE\", or a list of such texts")?;
            }
            "limit" => {
                let size = value.as_integer().map_or_else(text, |bytes| Ok(bytes.to_string()))?;
                self.limit = Some(size.parse::<Bytes>().map_err(|error| error.to_string())?);
            }
            "gpu" => self.gpu = Some(text()?),
            "python" => self.python = Some(text()?.into()),
            "ring" => {
                let count = value.as_integer().and_then(|count| u64::try_from(count).ok());
                self.ring = Some(count.filter(|count| *count > 0).ok_or("write a number of events")?);
            }
            "mem-fraction" => {
                let share = value.as_float().filter(|share| *share > 0.0 && *share <= 1.0);
                self.mem_fraction = Some(share.ok_or("write a share of the card, such as 0.9")?);
            }
            "retry" => self.retry = yes()?,
            "record" => self.record = yes()?,
            "preallocate" => self.preallocate = yes()?,
            "growth" => self.growth = yes()?,
            "async-allocator" => self.async_allocator = yes()?,
            _ => {}
        }
        Ok(())
    }

    /// These, and what `project` asks for beside them. Settings are merged key by key.
    pub fn over(self, project: Configuration) -> Configuration {
        let mut set = project.set;
        set.extend(self.set);
        // A size and a card are two ways to say the same: the nearer of the two hides the other.
        let says_size = self.limit.is_some() || self.gpu.is_some();
        Configuration {
            set,
            limit: if says_size { self.limit } else { project.limit },
            gpu: if says_size { self.gpu } else { project.gpu },
            ring: self.ring.or(project.ring),
            retry: self.retry.or(project.retry),
            record: self.record.or(project.record),
            python: self.python.or(project.python),
            preallocate: self.preallocate.or(project.preallocate),
            mem_fraction: self.mem_fraction.or(project.mem_fraction),
            growth: self.growth.or(project.growth),
            async_allocator: self.async_allocator.or(project.async_allocator),
        }
    }
}

/// The value of a variable, which is always a text, as the key wants it.
fn plain(key: &str, text: &str) -> Value {
    let truth = match text.to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    };
    let value = match key {
        "ring" => text.parse().ok().map(Value::Integer),
        "mem-fraction" => text.parse().ok().map(Value::Float),
        "retry" | "record" | "preallocate" | "growth" | "async-allocator" => truth.map(Value::Boolean),
        _ => None,
    };
    value.unwrap_or_else(|| Value::String(text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let found = match Configuration::read(text, "pyproject.toml") {
            Ok(found) => format!("{found:?}"),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn every_key_is_read() {
        let text = "[tool.oomph.run]\nset = [\"expandable_segments:True\"]\nlimit = \"15GiB\"\ngpu = \"T4\"\n\
                    ring = 1000\nretry = true\nrecord = false\npython = \"/opt/python\"\npreallocate = false\n\
                    mem-fraction = 0.5\ngrowth = true\nasync-allocator = true\n";
        let expected = Configuration {
            set: vec!["expandable_segments:True".to_owned()],
            limit: Some(Bytes::gib(15)),
            gpu: Some("T4".to_owned()),
            ring: Some(1000),
            retry: Some(true),
            record: Some(false),
            python: Some("/opt/python".into()),
            preallocate: Some(false),
            mem_fraction: Some(0.5),
            growth: Some(true),
            async_allocator: Some(true),
        };
        check(text, &format!("{expected:?}"));
        let nothing = format!("{:?}", Configuration::default());
        check("", &nothing);
        check("[tool.black]\nline-length = 80\n[tool.oomph.lint]\nwhatever = 1\n", &nothing);
    }

    #[test]
    fn unknown_keys_and_bad_values_are_errors_with_a_suggestion() {
        check(
            "[tool.oomph.run]\nlimt = \"1GiB\"\n",
            "pyproject.toml: [tool.oomph.run] has no key `limt`, did you mean `limit`?",
        );
        check(
            "[tool.oomph]\nlimit = \"1GiB\"\n",
            "pyproject.toml: [tool.oomph] has no key `limit`, did you mean `limit` in [tool.oomph.run]?",
        );
        check("[tool.oomph.run]\nretry = 1\n", "pyproject.toml: [tool.oomph.run] retry: write true or false");
        check(
            "[tool.oomph.run]\nlimit = \"big\"\n",
            "pyproject.toml: [tool.oomph.run] limit: `big` is not a size: write a number and a unit, \
             such as 12GiB, 512MiB or 1073741824",
        );
    }

    #[test]
    fn variables_ask_for_the_same() {
        let check = |variables: &[(&str, &str)], expected: &str| {
            let pairs = variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            let found = match Configuration::of_variables(pairs) {
                Ok(found) => format!("{found:?}"),
                Err(error) => error.to_string(),
            };
            assert_eq!(found, expected, "{variables:?}");
        };
        let expected = Configuration {
            set: vec!["a:1,b:2".to_owned()],
            limit: Some(Bytes::gib(1)),
            ring: Some(5),
            retry: Some(true),
            record: Some(false),
            mem_fraction: Some(0.5),
            ..Configuration::default()
        };
        check(
            &[
                ("OOMPH_SET", "a:1,b:2"),
                ("OOMPH_LIMIT", "1GiB"),
                ("OOMPH_RING", "5"),
                ("OOMPH_RETRY", "1"),
                ("OOMPH_RECORD", "off"),
                ("OOMPH_MEM_FRACTION", "0.5"),
                ("OOMPH_GPU", ""),
            ],
            &format!("{expected:?}"),
        );
        let nothing = format!("{:?}", Configuration::default());
        check(&[("OOMPH_RUN", "/x"), ("OOMPH_PARENT", "1"), ("OOMPH_PHANTOM", "x"), ("HOME", "/")], &nothing);
        check(&[("OOMPH_LIMT", "1GiB")], "no setting is called OOMPH_LIMT, did you mean OOMPH_LIMIT?");
        check(&[("OOMPH_RETRY", "maybe")], "OOMPH_RETRY=maybe: write true or false");
        check(&[("OOMPH_RING", "0")], "OOMPH_RING=0: write a number of events");
    }

    #[test]
    fn what_is_nearer_counts_and_settings_are_joined() {
        let of = |set: &str, gpu: Option<&str>, limit| Configuration {
            set: vec![set.to_owned()],
            gpu: gpu.map(str::to_owned),
            limit,
            ..Configuration::default()
        };
        let merged = of("b:2", None, Some(Bytes::gib(1))).over(of("a:1", Some("T4"), None));
        assert_eq!(
            merged,
            Configuration { set: vec!["a:1".into(), "b:2".into()], ..of("", None, Some(Bytes::gib(1))) }
        );
    }
}

//! What a run is asked for beside its flags: by variables such as OOMPH_LIMIT, and by `[tool.oomph.run]` of
//! pyproject.toml, under the same names.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use oomph_machine::trust;
use oomph_trace::Bytes;
use oomph_trace::spelling::nearest;
use toml::Value;

use crate::project::{ConfigurationError, nearest_project, tables};

/// The table of keys: what each asks for and its field; what it is called, and how its value is read.
macro_rules! keys {
    ($($(#[$doc:meta])* $field:ident: $type:ty = $name:literal, $read:ident;)*) => {
        /// What a run may be asked for; `None` where nothing is said.
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct Configuration {
            /// PyTorch's settings; later ones count.
            pub set: Vec<String>,
            $($(#[$doc])* pub $field: Option<$type>,)*
        }

        /// The keys. Each takes a value over, or says what it has to be.
        const KEYS: &[(&str, fn(&Value, &mut Configuration) -> Result<(), String>)] = &[
            ("set", |value, to| texts(value).map(|texts| to.set = texts)),
            $(($name, |value, to| $read(value).map(|value| to.$field = Some(value.into()))),)*
        ];

        impl Configuration {
            /// These, and what `project` asks for beside them. Settings are merged key by key.
            pub fn over(self, mut project: Configuration) -> Configuration {
                // A size and a card are two ways to say the same: the nearer of the two hides the other.
                if self.limit.is_some() || self.gpu.is_some() {
                    (project.limit, project.gpu) = (None, None);
                }
                project.set.extend(self.set);
                Configuration { set: project.set, $($field: self.$field.or(project.$field)),* }
            }
        }
    };
}

keys! {
    /// The memory to run with.
    limit: Bytes = "limit", size;
    /// The card whose memory to run with.
    gpu: String = "gpu", text;
    /// How many events are kept.
    ring: u64 = "ring", count;
    /// Whether to run once more with settings that help.
    retry: bool = "retry", yes;
    /// How often to start again what died of memory or was killed.
    resume: u64 = "resume", times;
    /// Whether to record at all.
    record: bool = "record", yes;
    /// The interpreter.
    python: PathBuf = "python", text;
    /// Whether JAX takes the card at once.
    preallocate: bool = "preallocate", yes;
    /// How much of it.
    mem_fraction: f64 = "mem-fraction", share;
    /// Whether TensorFlow takes memory as it goes.
    growth: bool = "growth", yes;
    /// Whether TensorFlow uses CUDA's own allocator.
    async_allocator: bool = "async-allocator", yes;
}

/// Variables of oomph's own that ask for nothing.
const OTHERS: &[&str] = &["bless", "parent", "phantom", "run"];

/// What the variable of each key begins with.
const PREFIX: &str = "OOMPH_";

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
            if let Some((_, read)) = KEYS.iter().find(|(known, _)| *known == key) {
                let mut read = |value| read(&value, &mut found);
                // A size is wanted as a text, so that a number in it means nothing else.
                if let Err(expected) = read(Value::String(value.clone()))
                    && (key == "limit" || !meanings(&value).any(|value| read(value).is_ok()))
                {
                    return Err(ConfigurationError::BadValue {
                        setting: format!("{name}={value}"),
                        expected,
                    });
                }
            } else if let Some(near) = near(&key).filter(|_| !OTHERS.contains(&key.as_str())) {
                let near = near.to_uppercase().replace('-', "_");
                return Err(ConfigurationError::UnknownVariable { name, near: format!("{PREFIX}{near}") });
            }
        }
        Ok(found)
    }

    /// What the nearest pyproject.toml asks for: the directory's own or that of a folder above it.
    pub fn of_project(directory: &Path) -> Result<Configuration, ConfigurationError> {
        let Some((file, text)) = nearest_project(directory) else { return Ok(Configuration::default()) };
        let path = file.display().to_string();
        let Some(text) = text else {
            let reason = "it is not a text, or too long, or another user's".to_owned();
            return Err(ConfigurationError::Unreadable { path, reason });
        };
        let found = Configuration::read(&text, &path)?;
        if found.python.is_some() && !trust::is_believed(&file) {
            return Err(ConfigurationError::Foreign { path });
        }
        Ok(found)
    }

    /// The variables that tell JAX and TensorFlow what is asked of their allocators.
    pub fn frameworks(&self) -> Vec<(&'static str, OsString)> {
        let asked = [
            ("XLA_PYTHON_CLIENT_PREALLOCATE", self.preallocate.map(|all| all.to_string())),
            ("XLA_PYTHON_CLIENT_MEM_FRACTION", self.mem_fraction.map(|share| share.to_string())),
            ("TF_FORCE_GPU_ALLOW_GROWTH", self.growth.filter(|is| *is).map(|_| "true".to_owned())),
            // CUDA's own pool gives memory back.
            (
                "TF_GPU_ALLOCATOR",
                self.async_allocator.filter(|is| *is).map(|_| "cuda_malloc_async".to_owned()),
            ),
        ];
        asked.into_iter().filter_map(|(name, value)| Some((name, value?.into()))).collect()
    }

    /// Reads the text of a pyproject.toml.
    fn read(text: &str, path: &str) -> Result<Configuration, ConfigurationError> {
        let ours = tables(text, path)?;
        let ours = ours.as_ref();
        let unknown = |table, key: &str, place: &str| {
            let hint = near(key).map(|near| format!(", did you mean `{near}`{place}?")).unwrap_or_default();
            ConfigurationError::UnknownKey { path: path.to_owned(), table, key: key.to_owned(), hint }
        };
        // A table may belong to another verb; a plain key belongs to none.
        if let Some((key, _)) = ours.into_iter().flatten().find(|(_, value)| !value.is_table()) {
            return Err(unknown("", key, " in [tool.oomph.run]"));
        }
        let mut found = Configuration::default();
        let run = ours.and_then(|ours| ours.get("run")).and_then(Value::as_table);
        for (key, value) in run.into_iter().flatten() {
            let known = KEYS.iter().find(|(known, _)| known == key);
            let (_, read) = known.ok_or_else(|| unknown(".run", key, ""))?;
            read(value, &mut found).map_err(|expected| ConfigurationError::BadValue {
                setting: format!("{path}: [tool.oomph.run] {key}"),
                expected,
            })?;
        }
        Ok(found)
    }
}

/// The key that was most likely meant.
fn near(key: &str) -> Option<&'static str> {
    nearest(key, KEYS.iter().map(|(name, _)| *name))
}

/// What the text of a variable may stand for, where its key does not want a text.
fn meanings(text: &str) -> impl Iterator<Item = Value> {
    let truth = match text.to_lowercase().as_str() {
        "1" | "true" | "yes" | "on" => Some(true),
        "0" | "false" | "no" | "off" => Some(false),
        _ => None,
    };
    let numbers = [text.parse().ok().map(Value::Integer), text.parse().ok().map(Value::Float)];
    numbers.into_iter().chain([truth.map(Value::Boolean)]).flatten()
}

fn texts(value: &Value) -> Result<Vec<String>, String> {
    let list = value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice);
    let texts: Result<_, _> = list.iter().map(text).collect();
    texts.map_err(|_| "write \"KEY:VALUE\", or a list of such texts".to_owned())
}

fn text(value: &Value) -> Result<String, String> {
    Ok(value.as_str().ok_or("write a text in quotes")?.to_owned())
}

fn size(value: &Value) -> Result<Bytes, String> {
    let size = value.as_integer().map_or_else(|| text(value), |bytes| Ok(bytes.to_string()))?;
    size.parse::<Bytes>().map_err(|error| error.to_string())
}

fn count(value: &Value) -> Result<u64, String> {
    let count = value.as_integer().and_then(|count| u64::try_from(count).ok());
    Ok(count.filter(|count| *count > 0).ok_or("write a number of events")?)
}

fn times(value: &Value) -> Result<u64, String> {
    let times = value.as_integer().and_then(|times| u64::try_from(times).ok());
    Ok(times.filter(|times| *times > 0).ok_or("write how often, from 1 on")?)
}

fn share(value: &Value) -> Result<f64, String> {
    let share = value.as_float().filter(|share| *share > 0.0 && *share <= 1.0);
    Ok(share.ok_or("write a share of the card, such as 0.9")?)
}

fn yes(value: &Value) -> Result<bool, String> {
    Ok(value.as_bool().ok_or("write true or false")?)
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
                    ring = 1000\nretry = true\nresume = 3\nrecord = false\npython = \"/opt/python\"\npreallocate = false\n\
                    mem-fraction = 0.5\ngrowth = true\nasync-allocator = true\n";
        let expected = Configuration {
            set: vec!["expandable_segments:True".to_owned()],
            limit: Some(Bytes::gib(15)),
            gpu: Some("T4".to_owned()),
            ring: Some(1000),
            retry: Some(true),
            resume: Some(3),
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
            resume: Some(3),
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
                ("OOMPH_RESUME", "3"),
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

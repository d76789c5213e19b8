//! The environment variables of PyTorch's allocator: what the user has, with what the run asks for on top.

use std::fmt;

use oomph_engine::torch::options::{OptionError, Options, known_since, split_settings};
use oomph_engine::torch::profile::{Profile, Version};
use oomph_engine::torch::variables::{self, CUDA, GENERAL};

/// What a run asks of PyTorch's allocator, each key once, in the order asked. `Display` writes it as PyTorch reads it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings(Vec<(String, String)>);

impl Settings {
    /// Reads and checks settings such as `expandable_segments:True`, one or several to a text. A later one of the same
    /// key replaces an earlier. `had` is what the user's environment sets, beside which they have to be valid.
    pub fn checked(asked: &[String], had: &str) -> Result<Settings, OptionError> {
        let latest = Profile::of(Version::LATEST);
        // What the user has is PyTorch's to judge: its version may know keys that this program does not.
        let mut options = Options::as_far_as_known(had, &latest);
        let mut settings = Settings::default();
        for (key, value) in asked.iter().flat_map(|text| split_settings(text)) {
            match options.set(key, value, &latest) {
                // It cannot be replayed, but run it can.
                Err(OptionError::Backend { value }) if value == "cudaMallocAsync" => {}
                judged => judged?,
            }
            settings.put(key, value);
        }
        Ok(settings)
    }

    /// These with `others` on top.
    pub fn with(&self, others: &Settings) -> Settings {
        let mut merged = self.clone();
        for (key, value) in &others.0 {
            merged.put(key, value);
        }
        merged
    }

    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The first PyTorch that knows each key.
    pub fn since(&self) -> Vec<(String, Version)> {
        self.0.iter().filter_map(|(key, _)| Some((key.clone(), known_since(key)?))).collect()
    }

    /// What both variables have to be, given what the user has set: his own keys in his order, those that are asked for
    /// in their place.
    pub fn merged_into(&self, had: &str) -> String {
        let mut merged = Settings::default();
        for (key, value) in split_settings(had) {
            merged.put(key, value);
        }
        merged.with(self).to_string()
    }

    fn put(&mut self, key: &str, value: &str) {
        match self.0.iter_mut().find(|(known, _)| known == key) {
            Some((_, old)) => value.clone_into(old),
            None => self.0.push((key.to_owned(), value.to_owned())),
        }
    }
}

impl fmt::Display for Settings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts: Vec<String> = self.0.iter().map(|(key, value)| format!("{key}:{value}")).collect();
        f.pad(&parts.join(","))
    }
}

/// What the user's environment asks of PyTorch's allocator: the variable that PyTorch obeys.
pub fn in_force() -> String {
    let variable = |name| std::env::var(name).ok();
    variables::in_force(variable(CUDA), variable(GENERAL), None).1.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(had: &str, asked: &[&str], expected: &str) {
        let asked: Vec<String> = asked.iter().map(|text| (*text).to_owned()).collect();
        let found = match Settings::checked(&asked, had) {
            Ok(settings) => settings.merged_into(had),
            Err(error) => error.to_string(),
        };
        assert_eq!(found, expected, "{asked:?} over {had:?}");
    }

    #[test]
    fn settings_are_merged_key_by_key() {
        check("", &["expandable_segments:True"], "expandable_segments:True");
        check("expandable_segments:False", &["expandable_segments:True"], "expandable_segments:True");
        check(
            "max_split_size_mb:64, expandable_segments:False",
            &["expandable_segments:True", "garbage_collection_threshold:0.8"],
            "max_split_size_mb:64,expandable_segments:True,garbage_collection_threshold:0.8",
        );
        check(
            "roundup_power2_divisions:[256:1,512:2,>:4],max_split_size_mb:64",
            &["max_split_size_mb:128"],
            "roundup_power2_divisions:[256:1,512:2,>:4],max_split_size_mb:128",
        );
        check(
            "max_split_size_mb:64",
            &["roundup_power2_divisions:[256:1,512:2,>:4],max_split_size_mb:20"],
            "max_split_size_mb:20,roundup_power2_divisions:[256:1,512:2,>:4]",
        );
        check("", &["expandable_segments:True", "expandable_segments:False"], "expandable_segments:False");
        check("", &["backend:cudaMallocAsync"], "backend:cudaMallocAsync");
    }

    #[test]
    fn what_the_user_has_is_kept_even_if_it_is_unknown() {
        check("a_key_of_2031:7", &["expandable_segments:True"], "a_key_of_2031:7,expandable_segments:True");
        check(
            "large_segment_size_mb:40",
            &["max_split_size_mb:64"],
            "large_segment_size_mb:40,max_split_size_mb:64",
        );
    }

    #[test]
    fn what_pytorch_would_refuse_is_refused() {
        check(
            "",
            &["expandable_segment:True"],
            "PyTorch has no allocator setting `expandable_segment`, did you mean `expandable_segments`?",
        );
        check(
            "",
            &["expandable_segments:true"],
            "`expandable_segments:true` is not valid: write True or False, with a capital",
        );
        check(
            "large_segment_size_mb:40",
            &["max_split_size_mb:30"],
            "`max_split_size_mb:30` is not valid: it must be at least large_segment_size_mb, which is 20 by default",
        );
    }
}

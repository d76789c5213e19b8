//! The card that a phantom GPU stands for, as the variable `OOMPH_PHANTOM` describes it: written by whoever starts a
//! process on it, read in that process.

use std::fmt;
use std::str::FromStr;

use crate::units::Bytes;

/// The variable.
pub const VARIABLE: &str = "OOMPH_PHANTOM";

/// The most cards that programs are shown.
pub const MOST_CARDS: u32 = 64;

/// What programs may ask of the card. The default is an H200.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PhantomCard {
    /// As CUDA reports it, such as `Tesla T4`.
    pub name: String,
    /// All of its memory.
    pub total: Bytes,
    /// What a CUDA context takes of that.
    pub context: Bytes,
    /// What is handed out instead of `total`: more, so that a program runs to its end on a card that is too small.
    pub capacity: Option<Bytes>,
    /// Compute capability: major, minor.
    pub capability: (u8, u8),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// How many such cards programs see; the memory of one is counted.
    pub devices: u32,
}

/// A description that cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{VARIABLE}: `{entry}` is not one of name=TEXT, total=, context=, capacity=, processors= or devices=NUMBER, capability=N.N"
)]
pub struct PhantomError {
    entry: String,
}

impl Default for PhantomCard {
    fn default() -> PhantomCard {
        PhantomCard {
            name: "NVIDIA H200".to_owned(),
            total: Bytes(150_109_880_320),
            context: Bytes::ZERO,
            capacity: None,
            capability: (9, 0),
            multiprocessors: 132,
            devices: 1,
        }
    }
}

impl fmt::Display for PhantomCard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (major, minor) = self.capability;
        write!(f, "name={};total={};context={}", self.name, self.total.0, self.context.0)?;
        if let Some(capacity) = self.capacity {
            write!(f, ";capacity={}", capacity.0)?;
        }
        write!(f, ";capability={major}.{minor};processors={}", self.multiprocessors)?;
        if self.devices == 1 { Ok(()) } else { write!(f, ";devices={}", self.devices) }
    }
}

impl FromStr for PhantomCard {
    type Err = PhantomError;

    /// Reads what `Display` writes. What is left out is that of an H200.
    fn from_str(text: &str) -> Result<PhantomCard, PhantomError> {
        let mut card = PhantomCard::default();
        for entry in text.split(';').map(str::trim).filter(|entry| !entry.is_empty()) {
            card.take(entry).ok_or_else(|| PhantomError { entry: entry.to_owned() })?;
        }
        Ok(card)
    }
}

impl PhantomCard {
    fn take(&mut self, entry: &str) -> Option<()> {
        let (key, value) = entry.split_once('=')?;
        let bytes = || value.parse().ok().map(Bytes);
        match key {
            "name" => value.clone_into(&mut self.name),
            "total" => self.total = bytes()?,
            "context" => self.context = bytes()?,
            "capacity" => self.capacity = Some(bytes()?),
            "processors" => self.multiprocessors = value.parse().ok()?,
            "devices" => {
                self.devices = value.parse().ok().filter(|count| (1..=MOST_CARDS).contains(count))?;
            }
            "capability" => {
                let (major, minor) = value.split_once('.')?;
                self.capability = (major.parse().ok()?, minor.parse().ok()?);
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_description_is_read_as_it_was_written() {
        let card = PhantomCard {
            name: "Tesla T4".to_owned(),
            total: Bytes(15_828_320_256),
            capacity: Some(Bytes(1 << 43)),
            capability: (7, 5),
            multiprocessors: 40,
            devices: 8,
            ..PhantomCard::default()
        };
        assert_eq!(card.to_string().parse(), Ok(card));
        assert_eq!("".parse(), Ok(PhantomCard::default()));
    }

    #[test]
    fn what_cannot_be_read_is_an_error_and_not_another_card() {
        for text in ["total=many", "capability=9", "colour=green", "T4", "total=-1", "devices=0"] {
            let error = text.parse::<PhantomCard>().expect_err(text).to_string();
            assert!(error.starts_with(&format!("OOMPH_PHANTOM: `{text}` is not one of")), "{error}");
        }
    }
}

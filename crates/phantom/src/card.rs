//! The card that the phantom stands for.

use std::sync::OnceLock;

/// What programs ask about a card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Card {
    /// As CUDA reports it, such as `Tesla T4`.
    pub(crate) name: String,
    /// All of its memory, in bytes.
    pub(crate) total: u64,
    /// What a context takes of that.
    pub(crate) context: u64,
    /// What is handed out instead of `total`: more, so that a program runs to its end on a card that is too small.
    pub(crate) capacity: Option<u64>,
    /// Compute capability: major, minor.
    pub(crate) capability: (i32, i32),
    /// Streaming multiprocessors.
    pub(crate) processors: i32,
}

impl Card {
    /// Reads `name=Tesla T4;total=15828320256;context=0;capability=7.5;processors=40`. What is missing or cannot be
    /// read is taken from an H200.
    pub(crate) fn parse(text: &str) -> Self {
        let mut card = Self {
            name: "NVIDIA H200".to_owned(),
            total: 150_109_880_320,
            context: 0,
            capacity: None,
            capability: (9, 0),
            processors: 132,
        };
        for (key, value) in text.split(';').filter_map(|entry| entry.split_once('=')) {
            match key.trim() {
                "name" => value.trim().clone_into(&mut card.name),
                "total" => card.total = value.trim().parse().unwrap_or(card.total),
                "context" => card.context = value.trim().parse().unwrap_or(card.context),
                "capacity" => card.capacity = value.trim().parse().ok(),
                "processors" => card.processors = value.trim().parse().unwrap_or(card.processors),
                "capability" => {
                    if let Some((major, minor)) = value.trim().split_once('.')
                        && let (Ok(major), Ok(minor)) = (major.parse(), minor.parse())
                    {
                        card.capability = (major, minor);
                    }
                }
                _ => {}
            }
        }
        card
    }

    /// The architecture of the kernels that it runs: of those that PyTorch is built for, the nearest below its own. A
    /// library that is told another one refuses to work.
    pub(crate) fn architecture(&self) -> i32 {
        let own = 10 * self.capability.0 + self.capability.1;
        [120, 100, 90, 86, 80, 75, 70, 60].into_iter().find(|built| *built <= own).unwrap_or(50)
    }

    /// Threads that fit on one multiprocessor.
    pub(crate) fn threads_per_processor(&self) -> i32 {
        match self.capability {
            (7, 5) => 1024,
            (8, 6 | 9) | (12, _) => 1536,
            _ => 2048,
        }
    }

    /// Bytes of shared memory on one multiprocessor.
    pub(crate) fn shared_per_processor(&self) -> i32 {
        let kib = match self.capability {
            (6, _) | (7, 5) => 64,
            (7, _) => 96,
            (8, 6 | 9) | (12, _) => 100,
            (8, _) => 164,
            _ => 228,
        };
        kib << 10
    }
}

/// The card of this process; it does not change.
pub(crate) fn card() -> &'static Card {
    static CARD: OnceLock<Card> = OnceLock::new();
    CARD.get_or_init(|| Card::parse(&std::env::var("OOMPH_PHANTOM").unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_read_from_its_description() {
        let card = Card::parse("name=Tesla T4;total=15828320256;capability=7.5;processors=40");
        assert_eq!(
            card,
            Card {
                name: "Tesla T4".to_owned(),
                total: 15_828_320_256,
                context: 0,
                capacity: None,
                capability: (7, 5),
                processors: 40,
            }
        );
        assert_eq!(Card::parse(""), Card::parse("total=many;capability=9"));
        let built = |capability: &str| Card::parse(&format!("capability={capability}")).architecture();
        assert_eq!(["7.5", "8.9", "9.0", "10.3", "12.0"].map(built), [75, 86, 90, 100, 120]);
    }
}

//! The card that the phantom stands for.

use std::io::{self, Write};
use std::sync::OnceLock;

use oomph_trace::phantom::{PhantomCard, VARIABLE};

/// oomph itself failed; the program has not run.
const OURS: i32 = 125;

/// The architecture of the kernels that a card runs: of those that PyTorch is built for, the nearest below its own. A
/// library that is told another one refuses to work.
pub(crate) fn architecture(card: &PhantomCard) -> i32 {
    let own = 10 * i32::from(card.capability.0) + i32::from(card.capability.1);
    [120, 100, 90, 86, 80, 75, 70, 60].into_iter().find(|built| *built <= own).unwrap_or(50)
}

/// Threads that fit on one multiprocessor.
pub(crate) fn threads_per_processor(card: &PhantomCard) -> i32 {
    match card.capability {
        (7, 5) => 1024,
        (8, 6 | 9) | (12, _) => 1536,
        _ => 2048,
    }
}

/// Bytes of shared memory on one multiprocessor.
pub(crate) fn shared_per_processor(card: &PhantomCard) -> i32 {
    let kib = match card.capability {
        (6, _) | (7, 5) => 64,
        (7, _) => 96,
        (8, 6 | 9) | (12, _) => 100,
        (8, _) => 164,
        _ => 228,
    };
    kib << 10
}

/// Bytes of the second cache. Whoever times kernels flushes it with a buffer of that size.
pub(crate) fn cache(card: &PhantomCard) -> u64 {
    let mib = match (card.capability, card.multiprocessors) {
        ((6, _) | (7, 5), _) => 4,
        ((8, 0), _) => 40,
        ((8, 6), ..40) => 3,
        ((8, 9), ..30) => 24,
        ((8, 9), ..100) => 48,
        ((8, 9), _) => 72,
        ((9, 0), _) if card.name.contains("H200") => 60,
        ((9, 0), _) => 50,
        ((10, _), _) => 126,
        ((12, _), _) => 96,
        _ => 6,
    };
    mib << 20
}

/// Blocks of threads that fit on one multiprocessor.
pub(crate) fn blocks_per_processor(card: &PhantomCard) -> i32 {
    match card.capability {
        (7, 5) | (8, 6) => 16,
        (8, 9) | (12, _) => 24,
        _ => 32,
    }
}

/// The clock of the processors and that of the memory, in kHz: those of the best known card of each capability. They weigh
/// little in the choice of engines.
pub(crate) fn clocks(card: &PhantomCard) -> (u32, u32) {
    match card.capability {
        (6, _) => (1_480_000, 715_000),
        (7, 5) => (1_590_000, 5_001_000),
        (7, _) => (1_530_000, 877_000),
        (8, 0) => (1_410_000, 1_593_000),
        (8, 6) => (1_695_000, 6_251_000),
        (8, 9) => (2_040_000, 6_251_000),
        (10, _) => (1_965_000, 3_996_000),
        (12, _) => (2_407_000, 14_001_000),
        _ => (1_980_000, 3_201_000),
    }
}

/// The card of this process; it does not change. A description that cannot be read ends the process: going on would be a
/// run on another card than the one asked for.
pub(crate) fn card() -> &'static PhantomCard {
    static CARD: OnceLock<PhantomCard> = OnceLock::new();
    CARD.get_or_init(|| match std::env::var(VARIABLE).unwrap_or_default().parse() {
        Ok(card) => card,
        Err(error) => {
            let _ = writeln!(io::stderr(), "oomph: {error}");
            std::process::exit(OURS)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_architecture_below_is_run() {
        let built = |capability| architecture(&PhantomCard { capability, ..PhantomCard::default() });
        assert_eq!([(7, 5), (8, 9), (9, 0), (10, 3), (12, 0)].map(built), [75, 86, 90, 100, 120]);
    }
}

//! Cards that the user may not have: what CUDA reports about them.
//!
//! The memory that a program sees is less than the advertised amount, and differs by some MiB between drivers and
//! with error correction. Each row states what was seen and where. Of several values the smallest is taken, so that
//! what fits in a plan fits on the card. Values in MiB or in hundredths of a GiB are only that precise.
//!
//! What a CUDA context holds differs by as much again between programs and drivers, so it has a least and a most: of the
//! processes of PyTorch 2 on such a card whose messages state it, nine in ten lie between (docs/reference/plan-model.md).

use std::borrow::Cow;

use crate::Bytes;
use crate::spelling::nearest;

/// A card: one of those that are known, or one described by its memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Card {
    /// What it is called on a command line.
    pub short: Cow<'static, str>,
    /// What CUDA calls it.
    pub name: Cow<'static, str>,
    /// The memory that CUDA reports.
    pub total: Bytes,
    /// Compute capability, major and minor.
    pub capability: (u8, u8),
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// What a CUDA context holds of the memory.
    pub context: Context,
}

/// What a CUDA context holds of a card, with the code and the libraries that PyTorch loads into it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Context {
    /// Of a program that uses few of them.
    pub least: Bytes,
    /// Of one that uses many.
    pub most: Bytes,
}

const fn card(
    short: &'static str,
    name: &'static str,
    total: Bytes,
    capability: (u8, u8),
    multiprocessors: u32,
    context: Context,
) -> Card {
    Card {
        short: Cow::Borrowed(short),
        name: Cow::Borrowed(name),
        total,
        capability,
        multiprocessors,
        context,
    }
}

/// A context of so many MiB.
const fn mib(least: u64, most: u64) -> Context {
    Context { least: Bytes::mib(least), most: Bytes::mib(most) }
}

/// `n` hundredths of a GiB, as error messages print totals.
const fn hundredths(n: u64) -> Bytes {
    Bytes((n << 30) / 100)
}

/// The cards, by age.
pub const CARDS: &[Card] = &[
    // 16280 MiB, printed by torch.cuda.get_device_properties.
    card("P100", "Tesla P100-PCIE-16GB", Bytes::mib(16_280), (6, 0), 56, mib(250, 400)),
    // 16130 MiB and 16160 MiB by get_device_properties.
    card("V100-16", "Tesla V100-SXM2-16GB", Bytes::mib(16_130), (7, 0), 80, mib(300, 400)),
    // "31.74 GiB total capacity" in a message of PyTorch 2.0; properties as of the card with 16 GB.
    card("V100-32", "Tesla V100-SXM2-32GB", hundredths(3174), (7, 0), 80, mib(300, 400)),
    // 14930 MiB (CUDA 11.8), 15095 to 15109 MiB elsewhere by get_device_properties; "14.57 GiB" under CUDA 13.
    card("T4", "Tesla T4", hundredths(1457), (7, 5), 40, mib(100, 210)),
    // 11931 to 12044 MiB by get_device_properties.
    card("RTX3060", "NVIDIA GeForce RTX 3060", Bytes::mib(11_931), (8, 6), 28, mib(100, 330)),
    // 24259 and 24268 MiB by get_device_properties.
    card("RTX3090", "NVIDIA GeForce RTX 3090", Bytes::mib(24_259), (8, 6), 82, mib(255, 360)),
    // 22587 MiB under CUDA 13, printed by get_device_properties.
    card("A10G", "NVIDIA A10G", Bytes::mib(22_587), (8, 6), 80, mib(180, 435)),
    // "39.50 GiB" in a message of PyTorch 2.5, 40536 MiB (39.59 GiB) by get_device_properties.
    card("A100-40", "NVIDIA A100-SXM4-40GB", hundredths(3950), (8, 0), 108, mib(410, 535)),
    // "79.14 GiB" to "79.25 GiB" in messages; the properties are the manufacturer's.
    card("A100-80", "NVIDIA A100-SXM4-80GB", hundredths(7914), (8, 0), 108, mib(410, 535)),
    // "22.03 GiB" in messages of PyTorch 2.4 and later; the properties are the manufacturer's.
    card("L4", "NVIDIA L4", hundredths(2203), (8, 9), 58, mib(210, 325)),
    // "7.60 GiB" is the least that cards of 8 GB print on Linux; the properties are the manufacturer's.
    card("RTX4060", "NVIDIA GeForce RTX 4060", hundredths(760), (8, 9), 24, mib(90, 190)),
    // "23.64 GiB" in messages on Linux; 24563 MiB on Windows by get_device_properties.
    card("RTX4090", "NVIDIA GeForce RTX 4090", hundredths(2364), (8, 9), 128, mib(305, 525)),
    // 81082 to 81090 MiB by get_device_properties.
    card("H100", "NVIDIA H100 80GB HBM3", Bytes::mib(81_082), (9, 0), 132, mib(510, 770)),
    // 150109880320 bytes, read on such a card (driver 580, CUDA 13.0).
    card("H200", "NVIDIA H200", Bytes(150_109_880_320), (9, 0), 132, mib(522, 768)),
    // 182631 and 182642 MiB by get_device_properties.
    card("B200", "NVIDIA B200", Bytes::mib(182_631), (10, 0), 148, mib(600, 900)),
    // "31.34 GiB" to "31.39 GiB" in messages on Linux; the properties are the manufacturer's.
    card("RTX5090", "NVIDIA GeForce RTX 5090", hundredths(3134), (12, 0), 170, mib(305, 620)),
];

/// A name that no known card has.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("no card `{name}` is known{hint} Write one of {}, or give --limit SIZE", known())]
pub struct UnknownCard {
    name: String,
    hint: String,
}

/// The card of this name: `T4`, `rtx 4090`, `A100` (the smaller), or what CUDA calls it.
pub fn card_named(name: &str) -> Result<&'static Card, UnknownCard> {
    let plain = |text: &str| -> String {
        let kept = text.chars().filter(char::is_ascii_alphanumeric);
        kept.collect::<String>()
            .to_lowercase()
            .replace("nvidia", "")
            .replace("geforce", "")
            .replace("tesla", "")
    };
    let wanted = plain(name);
    let is_it = |card: &&Card| {
        let short = plain(&card.short);
        let without_maker = short.strip_prefix("rtx").unwrap_or(&short);
        wanted == short
            || wanted == plain(&card.name)
            || wanted == without_maker
            || wanted == format!("{short}gb")
    };
    let family = |card: &&Card| card.short.split('-').next().is_some_and(|family| plain(family) == wanted);
    let found = CARDS.iter().find(is_it).or_else(|| CARDS.iter().find(family));
    found.ok_or_else(|| UnknownCard {
        name: name.to_owned(),
        hint: nearest(&wanted.to_uppercase(), CARDS.iter().map(|card| card.short.as_ref()))
            .map_or_else(|| ".".to_owned(), |near| format!(", did you mean `{near}`?")),
    })
}

fn known() -> String {
    CARDS.iter().map(|card| card.short.as_ref()).collect::<Vec<&str>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(name: &str, expected: &str) {
        let shown = match card_named(name) {
            Ok(card) => format!("{} {}", card.short, card.total),
            Err(error) => error.to_string(),
        };
        assert_eq!(shown, expected, "{name}");
    }

    #[test]
    fn a_card_is_found_by_any_of_its_names() {
        check("T4", "T4 14.57 GiB");
        check("tesla t4", "T4 14.57 GiB");
        check("rtx 4090", "RTX4090 23.64 GiB");
        check("4090", "RTX4090 23.64 GiB");
        check("NVIDIA GeForce RTX 5090", "RTX5090 31.34 GiB");
        check("a100", "A100-40 39.50 GiB");
        check("A100-80GB", "A100-80 79.14 GiB");
        check("V100-32", "V100-32 31.74 GiB");
        check("NVIDIA H200", "H200 139.80 GiB");
    }

    #[test]
    fn a_misspelt_card_gets_a_suggestion() {
        let all = "P100, V100-16, V100-32, T4, RTX3060, RTX3090, A10G, A100-40, A100-80, L4, RTX4060, RTX4090, H100, \
                   H200, B200, RTX5090";
        check(
            "RTX 4099",
            &format!(
                "no card `RTX 4099` is known, did you mean `RTX4090`? Write one of {all}, or give --limit SIZE"
            ),
        );
        check("Voodoo", &format!("no card `Voodoo` is known. Write one of {all}, or give --limit SIZE"));
    }
}

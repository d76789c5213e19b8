//! The cards a plan is for, and which of them one run answers for.

use oomph_trace::Bytes;
use oomph_trace::cards::{CARDS, Card, Context, card_named};
use oomph_trace::phantom::PhantomCard;

/// The context of a card of which nothing is known.
const ANY_CONTEXT: Context = Context { least: Bytes::mib(90), most: Bytes::mib(900) };

/// What NCCL holds of a card with its first communicator, measured on an H200 under CUDA 13.0 for a world of one: most of it
/// is the code of its kernels. `gpu/ranks.py measure` prints it as `nccl_bytes`.
pub const FIRST_COMMUNICATOR: Bytes = Bytes::mib(558);

/// What each further communicator holds, measured alike: 388 MiB the second, 390 the third. It depends on channels and peers.
pub const COMMUNICATOR: Bytes = Bytes::mib(390);

/// A card of which only its memory and perhaps its capability are known: otherwise like the known card of that
/// capability with the next larger memory, or the largest.
pub fn with_memory(total: Bytes, capability: Option<(u8, u8)>) -> Card {
    let capability = capability.unwrap_or((8, 9));
    let mut like: Vec<&Card> = CARDS.iter().filter(|card| card.capability == capability).collect();
    like.sort_by_key(|card| card.total);
    let nearest = like.iter().find(|card| card.total >= total).or(like.last());
    Card {
        short: total.to_string().replace(' ', "").replace(".00", "").into(),
        name: nearest.map_or("a GPU".into(), |card| card.name.clone()),
        total,
        capability,
        multiprocessors: nearest.map_or(80, |card| card.multiprocessors),
        context: nearest.map_or(ANY_CONTEXT, |card| card.context),
    }
}

/// A card as the phantom is told of it, which runs out as the card does.
pub fn phantom(card: &Card) -> PhantomCard {
    PhantomCard {
        name: card.name.to_string(),
        total: card.total,
        context: card.context.most,
        capacity: None,
        capability: card.capability,
        multiprocessors: card.multiprocessors,
        devices: 1,
    }
}

/// The same with memory that is handed out without end, so that the peak is seen even where it does not fit; what the
/// program is told is the card's own. It sees `devices` of them.
pub fn endless_phantom(card: &Card, devices: u32) -> PhantomCard {
    PhantomCard { capacity: Some(Bytes(1 << 43)), devices, ..phantom(card) }
}

/// Cards that are answered for by one run of the program, on the first of them or on one that stands for them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The card that the phantom is during the run.
    pub seen_on: Card,
    /// Those it answers for.
    pub cards: Vec<Card>,
}

/// Groups for cards that were named: one for each capability, since kernels and workspaces are chosen by it.
pub fn exact_groups(cards: &[Card]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    for card in cards {
        match groups.iter_mut().find(|group| group.seen_on.capability == card.capability) {
            Some(group) => group.cards.push(card.clone()),
            None => groups.push(Group { seen_on: card.clone(), cards: vec![card.clone()] }),
        }
    }
    groups
}

/// Three groups for the table of all cards: before Ampere (no flash attention), Ampere and its kin, Hopper and
/// Blackwell's large cards (larger workspaces, cuDNN's attention).
pub fn table_groups() -> Vec<Group> {
    let kind = |capability: (u8, u8)| match capability.0 {
        ..=7 => "T4",
        9 | 10 => "H200",
        _ => "L4",
    };
    let mut groups = Vec::new();
    for stands in ["T4", "L4", "H200"] {
        let Ok(card) = card_named(stands) else { continue };
        let mut cards: Vec<Card> =
            CARDS.iter().filter(|card| kind(card.capability) == stands).cloned().collect();
        cards.sort_by_key(|card| card.total);
        groups.push(Group { seen_on: card.clone(), cards });
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_has_every_card_once() {
        let groups = table_groups();
        let mut shorts: Vec<String> =
            groups.iter().flat_map(|group| &group.cards).map(|card| card.short.to_string()).collect();
        let mut known: Vec<String> = CARDS.iter().map(|card| card.short.to_string()).collect();
        shorts.sort();
        known.sort();
        assert_eq!(shorts, known);
        let seen: Vec<(&str, usize)> =
            groups.iter().map(|group| (group.seen_on.short.as_ref(), group.cards.len())).collect();
        assert_eq!(seen, [("T4", 4), ("L4", 9), ("H200", 3)]);
    }

    #[test]
    fn named_cards_of_one_capability_share_a_run() {
        let named: Vec<Card> =
            ["H100", "T4", "H200"].iter().filter_map(|name| card_named(name).ok().cloned()).collect();
        let shown: Vec<(String, Vec<String>)> = exact_groups(&named)
            .into_iter()
            .map(|group| {
                (
                    group.seen_on.short.to_string(),
                    group.cards.iter().map(|card| card.short.to_string()).collect(),
                )
            })
            .collect();
        let of = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<String>>();
        assert_eq!(shown, [("H100".to_owned(), of(&["H100", "H200"])), ("T4".to_owned(), of(&["T4"]))]);
    }

    #[test]
    fn a_card_known_by_its_memory_is_like_one_that_is_known() {
        let card = with_memory(Bytes::gib(24), Some((8, 9)));
        assert_eq!((card.short.as_ref(), card.name.as_ref()), ("24GiB", "NVIDIA GeForce RTX 4090"));
        let unknown = with_memory(Bytes::gib(24), Some((8, 7)));
        assert_eq!((unknown.name.as_ref(), unknown.capability), ("a GPU", (8, 7)));
    }
}

//! Allocations by line, size or address; and what lay where one was placed.

use oomph_engine::program::AllocId;
use oomph_trace::{Addr, Bytes};

use crate::groups::{Groups, Part};
use crate::lives::{Life, Lives};

/// What was found.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Found {
    /// How many allocations there are.
    pub count: usize,
    /// What they had in use together at the slot where that was most, and the slot.
    pub most: (Bytes, u32),
    /// The first of them, largest first.
    pub first: Vec<AllocId>,
}

/// What is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// A block that covers this address at some time.
    At(Addr),
    /// So much asked for, or a block so long.
    Sized(Bytes),
    /// A line whose name has these letters, large or small.
    Named(String),
}

impl Wanted {
    /// `0x7f…` is an address, `12 MiB` or `4096` a size, all else a part of a line's name.
    pub fn read(text: &str) -> Wanted {
        let text = text.trim();
        let digits = text.strip_prefix("0x").and_then(|digits| u64::from_str_radix(digits, 16).ok());
        match (digits, text.parse::<Bytes>()) {
            (Some(addr), _) => Wanted::At(Addr(addr)),
            (None, Ok(size)) => Wanted::Sized(size),
            (None, Err(_)) => Wanted::Named(text.to_lowercase()),
        }
    }
}

/// The allocations that have a block and are what is wanted; of them at most `most` are named.
pub fn find(groups: &Groups, lives: &Lives, wanted: &Wanted, most: usize) -> Found {
    let lines = &groups.parts[Part::Line as usize];
    let named: Vec<bool> = match wanted {
        Wanted::Named(text) => {
            let file = |at: usize| groups.lines[at].as_ref().map_or("", |line| line.file.as_str());
            let has = |(at, name): (usize, &String)| {
                name.to_lowercase().contains(text) || file(at).to_lowercase().contains(text)
            };
            lines.names.iter().enumerate().map(has).collect()
        }
        _ => Vec::new(),
    };
    // A size is written with two decimals, so it means all that are shown so.
    let is_sized = |size: Bytes, wanted: Bytes| size == wanted || size.to_string() == wanted.to_string();
    let fits = |id: usize, life: &Life| match wanted {
        Wanted::At(addr) => addr.distance_from(life.addr).is_some_and(|inside| inside < life.size),
        Wanted::Sized(size) => is_sized(life.size, *size) || is_sized(life.requested, *size),
        Wanted::Named(_) => named[lines.of[id] as usize],
    };
    let chosen: Vec<bool> =
        lives.of.iter().enumerate().map(|(id, life)| life.from < life.to && fits(id, life)).collect();
    let mut first: Vec<AllocId> =
        (0..).map(AllocId).zip(&chosen).filter(|(_, is)| **is).map(|(id, _)| id).collect();
    let count = first.len();
    first.sort_by_key(|id| (std::cmp::Reverse(lives.of[id.index()].size), *id));
    first.truncate(most);
    Found { count, most: greatest(lives, &chosen), first }
}

/// The most that the chosen allocations had in use together, and the slot.
pub fn greatest(lives: &Lives, chosen: &[bool]) -> (Bytes, u32) {
    let (mut now, mut most) = (Bytes::ZERO, (Bytes::ZERO, 0));
    let mut turns = lives.turns.iter().filter(|turn| chosen[turn.id.index()]).peekable();
    while let Some(turn) = turns.next() {
        let size = lives.of[turn.id.index()].size;
        now = if turn.born { now + size } else { now.saturating_sub(size) };
        // What counts is how a slot ends.
        let ends = turns.peek().is_none_or(|next| next.slot != turn.slot);
        if ends && now > most.0 {
            most = (now, turn.slot);
        }
    }
    most
}

/// Who had a block last where this one was placed, before it.
pub fn before(lives: &Lives, id: AllocId) -> Option<AllocId> {
    let own = lives.of[id.index()];
    let (low, high) = (own.addr, own.addr.offset(own.size));
    let numbered = (0..).map(AllocId).zip(&lives.of);
    let overlaps = numbered.filter(|(other, life)| {
        *other != id
            && life.from < life.to
            && life.to <= own.from
            && life.addr < high
            && life.addr.offset(life.size) > low
    });
    overlaps.max_by_key(|(other, life)| (life.to, *other)).map(|(other, _)| other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_typed_is_an_address_a_size_or_a_name() {
        assert_eq!(Wanted::read(" 0x7f00 "), Wanted::At(Addr(0x7f00)));
        assert_eq!(Wanted::read("12 MiB"), Wanted::Sized(Bytes::mib(12)));
        assert_eq!(Wanted::read("Train.py:31"), Wanted::Named("train.py:31".to_owned()));
    }
}

//! The page and what it needs as one file: from the coarsest level down, as far as there is room.

use oomph_report::view::{self, Budget, Kept};
use oomph_view::groups::Part;
use oomph_view::map::{greatest_height, highest_level};
use oomph_view::picture::Picture;
use oomph_view::pyramid::TILE;

use super::session::Session;

/// The file, of at most so many bytes.
pub fn single_file(session: &Session, budget: Budget) -> String {
    let mut kept = Kept::default();
    let mut left_out = vec![
        "search, stacks of single blocks, filters and further replays: `oomph view FILE` has them".to_owned(),
    ];
    let mut keep = |key: &str| session.answer(key, "").is_some_and(|answer| kept.add(key, &answer, budget));
    keep("list");
    for place in 0..session.len() {
        ["verdict", "0/meta"].iter().for_each(|key| _ = keep(&format!("{place}/{key}")));
    }
    for place in 1..session.len() {
        keep(&format!("compare/0/{place}"));
    }
    let mut levels = Vec::new();
    for place in 0..session.len() {
        let Some((subject, picture)) = session.recorded(place) else { continue };
        let failed = picture.lives.failed.first().map(|failed| failed.event.0);
        for slot in std::iter::once(picture.peak(&subject)).chain(failed) {
            ["at", "flame", "modules"].iter().for_each(|what| _ = keep(&format!("{place}/0/{what}/{slot}")));
        }
        levels.push(Levels::of(place, 0, &picture));
        for replay in session.replays(place) {
            keep(&format!("{place}/{replay}"));
        }
        for (variant, picture) in session.replayed(place) {
            keep(&format!("{place}/{variant}/meta"));
            levels.push(Levels::of(place, variant, &picture));
        }
    }
    // Level by level for all of them, so that each gets its share.
    loop {
        let mut goes_on = false;
        for levels in levels.iter_mut().filter(|levels| !levels.is_full) {
            let Some(keys) = levels.next() else {
                levels.is_full = true;
                continue;
            };
            let all = keys.iter().filter(|key| keep(key)).count() == keys.len();
            (levels.is_full, levels.is_cut) = (!all, !all);
            goes_on |= all;
        }
        if !goes_on {
            break;
        }
    }
    for levels in levels.iter().filter(|levels| levels.is_cut && levels.variant == 0) {
        left_out.push(format!(
            "of recording {}, columns of fewer than {} events, beyond {} MB",
            levels.place + 1,
            1u64 << levels.level,
            budget.bytes >> 20
        ));
    }
    view::single_file(&kept, &left_out)
}

/// What is to be kept of one picture next: of a recording, or of a replay of it.
struct Levels {
    place: usize,
    variant: usize,
    slots: u32,
    units: u32,
    /// The last level that was asked for, and how many were.
    level: u32,
    height: u32,
    begun: bool,
    is_full: bool,
    is_cut: bool,
}

impl Levels {
    fn of(place: usize, variant: usize, picture: &Picture) -> Levels {
        let (slots, units) = (picture.lives.slots, picture.addresses.total);
        Levels {
            place,
            variant,
            slots,
            units,
            level: highest_level(slots),
            height: greatest_height(units),
            begun: false,
            is_full: false,
            is_cut: false,
        }
    }

    /// The keys of the next finer level: of the timeline, and of the map in twice as many rows.
    fn next(&mut self) -> Option<Vec<String>> {
        if self.begun {
            if self.level == 0 {
                return None;
            }
            self.level -= 1;
            self.height = self.height.saturating_sub(1);
        }
        self.begun = true;
        let tiles =
            |all: u32, each: u32, level: u32| (u64::from(all)).div_ceil(u64::from(each) << level) as u32;
        let columns = tiles(self.slots, TILE, self.level);
        let of = format!("{}/{}", self.place, self.variant);
        let mut keys = Vec::new();
        for part in Part::ALL {
            let part = part.name();
            keys.extend((0..columns).map(|tile| format!("{of}/t/{part}/{}/{tile}", self.level)));
            let rows = tiles(self.units, oomph_view::map::ROWS, self.height);
            for column in 0..columns {
                let key = |row| format!("{of}/m/{part}/{}/{column}/{}/{row}", self.level, self.height);
                keys.extend((0..rows).map(key));
            }
        }
        Some(keys)
    }
}

#[cfg(test)]
mod tests {
    use oomph_report::view::Key;
    use oomph_view::map::Window;

    use super::*;

    #[test]
    fn keys_of_a_file_are_keys_of_a_picture() {
        let window = Window { level: 3, column: 2, height: 1, row: 0 };
        assert_eq!("m/line/3/2/1/0".parse(), Ok(Key::Map(Part::Line, window)));
        assert_eq!("t/class/4/1".parse(), Ok(Key::Timeline(Part::Class, 4, 1)));
    }
}

//! What the page asks for by name, where the answer is a tile or belongs to a moment.

use std::str::FromStr;

use oomph_view::encode;
use oomph_view::groups::Part;
use oomph_view::map::Window;
use oomph_view::picture::{Filter, Picture, Subject};

use super::moment;

/// Something that a picture answers by itself. In a single file it is the name that the answer is kept under.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// `t/PART/LEVEL/TILE`: a tile of the timeline.
    Timeline(Part, u32, u32),
    /// `m/PART/LEVEL/COLUMN/HEIGHT/ROW`: a tile of the map.
    Map(Part, Window),
    /// `at/SLOT`: everything that is held.
    Slice(u32),
    /// `flame/SLOT`: what is in use, by stack.
    Flame(u32),
    /// `modules/SLOT`: what is in use, by module.
    Modules(u32),
}

/// No such key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("nothing has this name")]
pub struct BadKey;

impl FromStr for Key {
    type Err = BadKey;

    fn from_str(key: &str) -> Result<Key, BadKey> {
        let words: Vec<&str> = key.split('/').collect();
        let number = |word: &str| word.parse::<u32>().map_err(|_| BadKey);
        let level =
            |word: &str| number(word).and_then(|level| if level < 32 { Ok(level) } else { Err(BadKey) });
        let part = |word: &str| Part::ALL.iter().copied().find(|part| part.name() == word).ok_or(BadKey);
        match words.as_slice() {
            ["t", of, high, tile] => Ok(Key::Timeline(part(of)?, level(high)?, number(tile)?)),
            ["m", of, wide, column, high, row] => {
                let window = Window {
                    level: level(wide)?,
                    column: number(column)?,
                    height: level(high)?,
                    row: number(row)?,
                };
                Ok(Key::Map(part(of)?, window))
            }
            ["at", slot] => Ok(Key::Slice(number(slot)?)),
            ["flame", slot] => Ok(Key::Flame(number(slot)?)),
            ["modules", slot] => Ok(Key::Modules(number(slot)?)),
            _ => Err(BadKey),
        }
    }
}

impl Key {
    /// The answer, in bytes.
    pub fn answer(&self, subject: &Subject, picture: &Picture) -> Vec<u8> {
        match *self {
            Key::Timeline(part, level, tile) => {
                let groups = picture.ranks.names[part as usize].len();
                encode::timeline(&picture.timeline(subject, level, tile), part, groups, level, tile)
            }
            Key::Map(part, window) => encode::map(&picture.map(subject, part, window)),
            Key::Slice(slot) => moment::slice(subject, picture, slot),
            Key::Flame(slot) => moment::flame(subject, picture, slot),
            Key::Modules(slot) => moment::modules(subject, picture, slot),
        }
    }

    /// What a filter leaves; `class=N`, `stream=N`, `pool=N`, with commas between them.
    pub fn filter(text: &str) -> Result<Filter, BadKey> {
        let mut filter = Filter::default();
        for one in text.split(',').filter(|one| !one.is_empty()) {
            let (name, value) = one.split_once('=').ok_or(BadKey)?;
            match name {
                "class" => filter.class = Some(value.parse().map_err(|_| BadKey)?),
                "stream" => filter.stream = Some(value.parse().map_err(|_| BadKey)?),
                "pool" => filter.pool = Some(value.parse().map_err(|_| BadKey)?),
                _ => return Err(BadKey),
            }
        }
        Ok(filter)
    }
}

//! What the page may ask, and the answers. Pictures are made once and kept; replays on demand are kept as long as there is
//! room.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;
use std::time::Duration;

use oomph_diagnose::results::diff::DiffResult;
use oomph_diagnose::results::explain::DeviceResult;
use oomph_diagnose::results::replay::ReplayResult;
use oomph_report::view::{self, Judged, Key, Listed};
use oomph_trace::Bytes;
use oomph_view::picture::{Filter, Picture, Subject};
use oomph_view::{lives, without};

use super::input::Input;
use crate::{cores, source};

/// How many events are so many, and how long a browser then has for its first picture.
const LONG: usize = 1_000_000;
const DRAWN: Duration = Duration::from_millis(1500);
/// Replays on demand that are kept for each recording.
const REPLAYS: usize = 3;
/// Pictures with a filter that are kept for each recording.
const FILTERED: usize = 2;

/// Recordings and all that was made of them.
#[derive(Debug)]
pub struct Session {
    shown: Vec<Shown>,
}

/// One recording. What takes long is made when it is first asked for.
#[derive(Debug)]
struct Shown {
    input: Input,
    recorded: OnceLock<(Arc<Subject>, Arc<Picture>)>,
    verdict: OnceLock<Judged>,
    replays: Mutex<VecDeque<Replay>>,
    filtered: Mutex<VecDeque<(usize, Filter, Arc<Picture>)>>,
}

#[derive(Debug)]
struct Replay {
    number: usize,
    title: String,
    picture: Arc<Picture>,
}

fn locked<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Session {
    /// Nothing is made yet.
    pub fn new(inputs: Vec<Input>) -> Session {
        let shown = inputs.into_iter().map(|input| Shown {
            input,
            recorded: OnceLock::new(),
            verdict: OnceLock::new(),
            replays: Mutex::default(),
            filtered: Mutex::default(),
        });
        Session { shown: shown.collect() }
    }

    /// Makes what the page asks for first: the picture of the first recording, then its verdict. That takes all cores where
    /// a recording is long; a browser that is there draws the picture before, and then asks.
    pub fn warm_up(&self) {
        if let Some(first) = self.shown.first() {
            first.recorded();
            if first.subject().events() > LONG {
                thread::sleep(DRAWN);
            }
            first.verdict();
        }
    }

    /// How many recordings there are.
    pub(super) fn len(&self) -> usize {
        self.shown.len()
    }

    /// A recording and its picture as recorded.
    pub(super) fn recorded(&self, place: usize) -> Option<(Arc<Subject>, Arc<Picture>)> {
        self.shown.get(place).map(|shown| (shown.subject(), shown.recorded()))
    }

    /// What is asked for where one of the replays that say most is chosen.
    pub(super) fn replays(&self, place: usize) -> &[String] {
        self.shown.get(place).map_or(&[], |shown| &shown.verdict().replays)
    }

    /// The replays of a recording that were asked for and are kept, by number.
    pub(super) fn replayed(&self, place: usize) -> Vec<(usize, Arc<Picture>)> {
        let of = |shown: &Shown| {
            locked(&shown.replays).iter().map(|replay| (replay.number, Arc::clone(&replay.picture))).collect()
        };
        self.shown.get(place).map(of).unwrap_or_default()
    }

    /// The answer to a question; `None`: there is none. `only` is a filter.
    pub fn answer(&self, key: &str, only: &str) -> Option<Vec<u8>> {
        let words: Vec<&str> = key.split('/').collect();
        match words.as_slice() {
            ["list"] => Some(self.list()),
            ["compare", first, second] => {
                let of = |word: &str| self.shown.get(word.parse::<usize>().ok()?);
                let (first, second) = (of(first)?, of(second)?);
                let side = |shown: &Shown| (Arc::clone(&shown.subject().recording), shown.input.name.clone());
                let (a, b) = (side(first), side(second));
                Some(view::compared(&DiffResult::of((&a.0, &a.1), (&b.0, &b.1), &source::line)))
            }
            [place, rest @ ..] => self.shown.get(place.parse::<usize>().ok()?)?.answer(rest, only),
            [] => None,
        }
    }

    fn list(&self) -> Vec<u8> {
        view::list(&self.shown.iter().map(|shown| shown.input.listed()).collect::<Vec<Listed>>())
    }
}

impl Shown {
    fn made(&self) -> &(Arc<Subject>, Arc<Picture>) {
        self.recorded.get_or_init(|| {
            let draft = self.input.draft();
            let likely = draft.likely();
            let (subject, lives) =
                cores::both(|| Subject::of(Arc::new(draft.check())), || lives::likely(&likely));
            // A recording that turned out to be another one than was likely is replayed once more.
            let lives =
                if likely.is(&subject.recording) { lives } else { lives::recorded(&subject.recording) };
            let picture = Picture::recorded(&subject, lives);
            (Arc::new(subject), Arc::new(picture))
        })
    }

    fn subject(&self) -> Arc<Subject> {
        Arc::clone(&self.made().0)
    }

    fn recorded(&self) -> Arc<Picture> {
        Arc::clone(&self.made().1)
    }

    fn verdict(&self) -> &Judged {
        self.verdict.get_or_init(|| {
            let subject = self.subject();
            let mut result = DeviceResult::of(Arc::clone(&subject.recording), &cores::evaluate_shortlist);
            result.quote(&source::line);
            view::verdict(&result, &subject)
        })
    }

    fn answer(&self, words: &[&str], only: &str) -> Option<Vec<u8>> {
        match words {
            ["verdict"] => Some(self.verdict().document.clone()),
            ["replay", settings, limit] => Some(self.replay(&unescaped(settings)?, &unescaped(limit)?)),
            ["without", line, slot] => self.without(line.parse().ok()?, slot.parse().ok()?),
            [variant, rest @ ..] => {
                let variant = variant.parse().ok()?;
                let picture = self.variant(variant)?;
                let subject = self.subject();
                match rest {
                    ["meta"] => Some(view::meta(&subject, &picture)),
                    ["find", wanted] => Some(view::found(&subject, &picture, &unescaped(wanted)?)),
                    ["block", id] => view::block(&subject, &picture, id.parse().ok()?, &source::line),
                    _ => {
                        let key: Key = rest.join("/").parse().ok()?;
                        let filter = Key::filter(only).ok()?;
                        let picture = if filter.is_open() {
                            picture
                        } else {
                            self.filtered(variant, &subject, &picture, filter)
                        };
                        Some(key.answer(&subject, &picture))
                    }
                }
            }
            [] => None,
        }
    }

    fn variant(&self, number: usize) -> Option<Arc<Picture>> {
        if number == 0 {
            return Some(self.recorded());
        }
        let replays = locked(&self.replays);
        replays.iter().find(|replay| replay.number == number).map(|replay| Arc::clone(&replay.picture))
    }

    fn filtered(&self, variant: usize, subject: &Subject, picture: &Picture, filter: Filter) -> Arc<Picture> {
        let mut kept = locked(&self.filtered);
        if let Some((.., found)) = kept.iter().find(|(of, which, _)| (*of, which) == (variant, &filter)) {
            return Arc::clone(found);
        }
        let made = Arc::new(picture.filtered(subject, &filter));
        kept.push_back((variant, filter, Arc::clone(&made)));
        while kept.len() > FILTERED {
            kept.pop_front();
        }
        made
    }

    fn replay(&self, settings: &str, limit: &str) -> Vec<u8> {
        let limit = match limit.trim() {
            "" => None,
            text => match text.parse::<Bytes>() {
                Ok(limit) => Some(limit),
                Err(error) => return view::refused(&error.to_string()),
            },
        };
        let words: Vec<String> =
            Some(settings.trim().to_owned()).filter(|text| !text.is_empty()).into_iter().collect();
        let subject = self.subject();
        let replayed = match ReplayResult::of(Arc::clone(&subject.recording), &words, limit) {
            Ok(replayed) => replayed,
            Err(error) => return view::refused(&error.to_string()),
        };
        let under = limit.map(|limit| format!("limit {limit}"));
        let parts: Vec<String> = words.iter().cloned().chain(under).collect();
        let title = if parts.is_empty() { "the recorded settings".to_owned() } else { parts.join(", ") };
        let make =
            || Picture::replayed(&subject, &subject.recording.program, &replayed.setup, &self.recorded());
        self.keep(title, make)
    }

    fn without(&self, line: u32, slot: u32) -> Option<Vec<u8>> {
        let (subject, recorded) = (self.subject(), self.recorded());
        let name = subject.groups.parts[oomph_view::groups::Part::Line as usize].names.get(line as usize)?;
        let title = format!("without what {name} holds then");
        let make = || {
            let program = &subject.recording.program;
            let (program, _) = without::without(program, &subject.groups, &recorded.lives, line, slot);
            Picture::replayed(&subject, &program, &subject.recording.setup, &recorded)
        };
        Some(self.keep(title, make))
    }

    /// Makes a replay, unless one of this title is kept.
    fn keep(&self, title: String, make: impl FnOnce() -> Picture) -> Vec<u8> {
        let recorded = self.recorded();
        let mut replays = locked(&self.replays);
        if let Some(found) = replays.iter().find(|replay| replay.title == title) {
            return view::replayed(found.number, &found.title, &found.picture, &recorded);
        }
        let number = replays.back().map_or(1, |last| last.number + 1);
        let picture = Arc::new(make());
        let answer = view::replayed(number, &title, &picture, &recorded);
        replays.push_back(Replay { number, title, picture });
        while replays.len() > REPLAYS {
            replays.pop_front();
        }
        answer
    }
}

/// What `%20` and the like stand for; `None` where it is not text.
fn unescaped(word: &str) -> Option<String> {
    let mut bytes = Vec::new();
    let mut rest = word.bytes();
    while let Some(byte) = rest.next() {
        let digit = |byte: Option<u8>| byte.and_then(|byte| char::from(byte).to_digit(16));
        bytes.push(match byte {
            b'%' => (digit(rest.next())? * 16 + digit(rest.next())?) as u8,
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_escaped_is_read() {
        assert_eq!(unescaped("a%3A1%2C%20b").as_deref(), Some("a:1, b"));
        assert_eq!(unescaped("100%"), None);
        assert_eq!(unescaped("%ff"), None);
    }
}

//! One recording under one setup, ready to be drawn.

use std::sync::Arc;

use oomph_diagnose::phases::Phases;
use oomph_engine::program::Program;
use oomph_engine::recording::Recording;
use oomph_engine::replay::Setup;
use oomph_trace::EventIdx;

use crate::addresses::Addresses;
use crate::groups::{Groups, Part, Ranks};
use crate::lives::{self, Lives};
use crate::map::{self, Index, MapTile, Window};
use crate::pyramid::{Bucket, Counted, Pyramid};

/// What does not change with the settings.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The recording.
    pub recording: Arc<Recording>,
    /// Its steps and phases.
    pub phases: Phases,
    /// What its allocations are counted under.
    pub groups: Groups,
}

impl Subject {
    /// Looks at every allocation of a recording.
    pub fn of(recording: Arc<Recording>) -> Subject {
        let phases = Phases::of(&recording);
        let groups = Groups::of(&recording, &phases);
        Subject { recording, phases, groups }
    }

    /// How many events the recording has.
    pub fn events(&self) -> usize {
        self.recording.trace().events.len()
    }
}

/// Which allocations are shown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// The number of a class.
    pub class: Option<u32>,
    /// The rank of a stream.
    pub stream: Option<u16>,
    /// The place of a pool's owner.
    pub pool: Option<u16>,
}

impl Filter {
    /// Whether it lets everything through.
    pub fn is_open(&self) -> bool {
        *self == Filter::default()
    }

    fn chosen(&self, subject: &Subject) -> Vec<bool> {
        let classes = &subject.groups.parts[Part::Class as usize].of;
        let all = subject.recording.program.allocations.iter().zip(classes);
        let is = |wanted: Option<u16>, found: u16| wanted.is_none_or(|wanted| wanted == found);
        all.map(|(allocation, class)| {
            self.class.is_none_or(|wanted| wanted == *class)
                && is(self.stream, allocation.stream.0)
                && is(self.pool, allocation.owner.0)
        })
        .collect()
    }
}

/// A replay with all that is drawn of it.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What it was replayed on.
    pub setup: Setup,
    /// The replay.
    pub lives: Arc<Lives>,
    /// Its groups. They are those of the recorded replay, so that colours mean the same.
    pub ranks: Arc<Ranks>,
    /// Where addresses are drawn.
    pub addresses: Arc<Addresses>,
    index: Arc<Index>,
    pyramid: Pyramid,
    shown: Option<Vec<bool>>,
}

impl Picture {
    /// The recording as it was; `lives` are [`lives::recorded`].
    pub fn recorded(subject: &Subject, lives: Lives) -> Picture {
        let ranks = Arc::new(Ranks::of(&subject.groups, &lives));
        Picture::made(subject, subject.recording.setup.clone(), lives, ranks)
    }

    /// The recording's program, or one made of it, under another setup; coloured as `like`.
    pub fn replayed(subject: &Subject, program: &Program, setup: &Setup, like: &Picture) -> Picture {
        let start = subject.recording.start_for(&setup.options);
        let same = *setup == subject.recording.setup && program.ops == subject.recording.program.ops;
        let as_recorded = same && subject.recording.is_exact();
        let lives = lives::replayed(program, setup, start, subject.events(), as_recorded);
        Picture::made(subject, setup.clone(), lives, Arc::clone(&like.ranks))
    }

    /// The same with only some of the allocations shown.
    #[must_use]
    pub fn filtered(&self, subject: &Subject, filter: &Filter) -> Picture {
        let shown = filter.chosen(subject);
        let counted =
            Counted { groups: &subject.groups, ranks: &self.ranks, lives: &self.lives, only: Some(&shown) };
        let pyramid = Pyramid::of(&counted);
        Picture { pyramid, shown: Some(shown), ..self.clone() }
    }

    fn made(subject: &Subject, setup: Setup, lives: Lives, ranks: Arc<Ranks>) -> Picture {
        let counted = Counted { groups: &subject.groups, ranks: &ranks, lives: &lives, only: None };
        let (pyramid, index) = (Pyramid::of(&counted), Index::of(&lives));
        let (addresses, index) = (Arc::new(Addresses::of(&[&lives])), Arc::new(index));
        Picture { setup, lives: Arc::new(lives), ranks, addresses, index, pyramid, shown: None }
    }

    fn counted<'a>(&'a self, subject: &'a Subject) -> Counted<'a> {
        let only = self.shown.as_deref();
        Counted { groups: &subject.groups, ranks: &self.ranks, lives: &self.lives, only }
    }

    /// One tile of the timeline.
    pub fn timeline(&self, subject: &Subject, level: u32, tile: u32) -> Vec<Bucket> {
        self.pyramid.tile(&self.counted(subject), level, tile)
    }

    /// The level at which one tile holds all of the timeline.
    pub fn top(&self) -> u32 {
        self.pyramid.top()
    }

    /// One tile of the map.
    pub fn map(&self, subject: &Subject, part: Part, window: Window) -> MapTile {
        map::tile(&self.counted(subject), &self.index, &self.addresses, part, window)
    }

    /// What is in use and held right after an event.
    pub fn at(&self, subject: &Subject, event: EventIdx) -> Option<Bucket> {
        self.pyramid.at(&self.counted(subject), event.0)
    }

    /// The first slot with the most in use.
    pub fn peak(&self, subject: &Subject) -> u32 {
        self.timeline(subject, self.top(), 0)
            .iter()
            .fold((oomph_trace::Bytes::ZERO, 0), |most, bucket| {
                if bucket.active.1 > most.0 { (bucket.active.1, bucket.at) } else { most }
            })
            .1
    }
}

//! What a person has chosen, and what keys do to it.

use oomph_diagnose::results::top::{Job, Sort, Top};
use oomph_report::text::top::{Screen, View};

use super::keys::Key;

/// A job goes by its process and its device, wherever it stands in the list.
type Name = (u32, Option<u32>);

/// What is looked at.
pub(super) struct State {
    pub(super) view: View,
    chosen: Option<Name>,
    /// The screen that help goes back to.
    behind: Screen,
}

/// What a key asks of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wish {
    /// Nothing more.
    Nothing,
    Quit,
    Suspend,
    /// The recording of this process.
    Dump(u32),
}

fn name(job: &Job<'_>) -> Name {
    (job.process.pid, job.device.map(|device| device.index))
}

impl State {
    pub(super) fn new(sort: Sort, ascii: bool) -> State {
        let view = View { sort, screen: Screen::List, chosen: 0, message: None, ascii };
        State { view, chosen: None, behind: Screen::List }
    }

    /// Finds the chosen job again. Where it has ended, the one in its place is chosen, and the list is shown.
    pub(super) fn follow(&mut self, top: &Top<'_>) {
        let at = self.chosen.and_then(|wanted| top.jobs.iter().position(|job| name(job) == wanted));
        if at.is_none() && self.chosen.is_some() && self.view.screen == Screen::Job {
            self.view.screen = Screen::List;
        }
        self.choose(at.unwrap_or(self.view.chosen), top);
    }

    fn choose(&mut self, at: usize, top: &Top<'_>) {
        self.view.chosen = at.min(top.jobs.len().saturating_sub(1));
        self.chosen = top.jobs.get(self.view.chosen).map(name);
    }

    /// A key was pressed while this was shown.
    pub(super) fn press(&mut self, key: Key, top: &Top<'_>) -> Wish {
        self.view.message = None;
        match key {
            Key::Char('q') | Key::Interrupt => return Wish::Quit,
            Key::Suspend => return Wish::Suspend,
            Key::Char('d') => return self.dump(top),
            Key::Char('m') => self.view.sort = Sort::Memory,
            Key::Char('g') => self.view.sort = Sort::Growth,
            Key::Char('t') => self.view.sort = Sort::Time,
            Key::Char('p') => self.view.sort = Sort::Pid,
            Key::Up | Key::Char('k') => self.choose(self.view.chosen.saturating_sub(1), top),
            Key::Down | Key::Char('j') => self.choose(self.view.chosen.saturating_add(1), top),
            Key::Char('?') if self.view.screen != Screen::Help => {
                self.behind = self.view.screen;
                self.view.screen = Screen::Help;
            }
            Key::Escape | Key::Char('?') if self.view.screen == Screen::Help => {
                self.view.screen = self.behind;
            }
            Key::Escape => self.view.screen = Screen::List,
            Key::Enter if self.view.screen == Screen::List && !top.jobs.is_empty() => {
                self.view.screen = Screen::Job;
            }
            Key::Enter | Key::Char(_) => {}
        }
        Wish::Nothing
    }

    fn dump(&mut self, top: &Top<'_>) -> Wish {
        match top.jobs.get(self.view.chosen) {
            Some(job) => Wish::Dump(job.process.pid),
            None => {
                self.view.message = Some("there is no job to dump".to_owned());
                Wish::Nothing
            }
        }
    }
}

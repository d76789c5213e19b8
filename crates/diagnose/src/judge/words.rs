//! Words that several hypotheses share.

use super::census::{Alive, Kept, keeper};
use super::folklore;
use super::{Case, Culprit, Lives, Role, Verdict};
use crate::cause::Cause;
use crate::frame::{self, Owner};
use crate::place::{self, Line};
use oomph_trace::sidecar::Keeper;

/// Where usable pieces would let a job live for so many times what it has lived, growth is not what ends it.
const FAR: u64 = 3;
/// How many lines that led to a request are named.
const OUTER: usize = 6;

impl Case<'_> {
    /// The variable behind a keeper, where one leads there.
    pub(super) fn variable(&self, kept: Kept) -> Option<&Keeper> {
        let Kept::By(at) = kept else { return None };
        self.keepers?.holders.get(at)
    }

    /// The variable that keeps most of these, as far as variables keep them.
    pub(super) fn variable_of(&self, of: &[&Alive]) -> Option<&Keeper> {
        let by_variables = of.iter().copied().filter(|alive| matches!(alive.kept, Kept::By(_)));
        keeper(by_variables).and_then(|(kept, _)| self.variable(kept))
    }

    /// Whether results of graphs wait for the garbage collector.
    pub(super) fn has_graphs_in_cycles(&self) -> bool {
        let storages = self.keepers.map_or(&[][..], |keepers| &keepers.storages);
        storages.iter().filter(|storage| storage.has_graph && storage.in_cycle).count() > 2
    }

    /// Whether the program's outermost call that led to the failure led to nothing before this step: another part of the
    /// program than its training.
    pub(super) fn is_new_call(&self) -> bool {
        let is_outer = |(file, _, function): &(&str, u32, &str)| {
            frame::owner(file) == Owner::User && !matches!(*function, "forward" | "<module>")
        };
        let Some((file, line, _)) = self.frames().into_iter().rfind(is_outer) else { return false };
        let snapshot = &self.evidence.recording.snapshot;
        let began = self.step_began();
        let mut looked_at = rustc_hash::FxHashSet::default();
        let earlier =
            self.evidence.recording.trace().events[..began.index()].iter().filter_map(|event| event.stack);
        let mut earlier = earlier.filter(|stack| looked_at.insert(*stack));
        !earlier.any(|stack| {
            let mut frames = place::shown(snapshot, snapshot.stacks.frames_of(stack));
            frames.any(|(its_file, its_line, _)| its_line == line && its_file == file)
        })
    }

    /// The variable with the most results of graphs; where none has several, the one with the largest graph.
    pub(super) fn keeper_of_graphs(&self) -> Option<&Keeper> {
        let keepers = self.keepers?;
        let mut counts = vec![0usize; keepers.holders.len()];
        for storage in keepers.storages.iter().filter(|storage| storage.has_graph) {
            if let Some(count) = storage.keeper.and_then(|at| counts.get_mut(at as usize)) {
                *count += 1;
            }
        }
        let most = counts.iter().copied().max()?;
        let largest = keepers.holders.iter().map(|holder| holder.graph).max()?;
        let at = if most > 1 {
            counts.iter().position(|count| *count == most)
        } else {
            // One result that keeps the graphs of all steps: `total = total + loss`.
            keepers.holders.iter().position(|holder| holder.graph == largest).filter(|_| largest > 0)
        };
        keepers.holders.get(at?)
    }

    /// The program's line that asked for what was refused, and those that led there.
    pub(super) fn asked(&self) -> Vec<Culprit> {
        let inner = self.place().map(|place| place.line.clone());
        let own = self.frames().into_iter().filter(|(file, ..)| frame::owner(file) == Owner::User);
        let outer = own.take(OUTER).map(|(file, line, function)| Line {
            file: file.to_owned(),
            line,
            function: function.to_owned(),
        });
        let asked = |line| Culprit { line, bytes: self.failed.size, role: Role::Asked, code: None };
        inner.into_iter().chain(outer).map(asked).collect()
    }

    /// How many steps were passed when it failed.
    pub(super) fn steps_passed(&self) -> u64 {
        self.evidence.steps.starts.len().saturating_sub(1) as u64
    }

    /// What settings would do at best: `None` where none serves the request.
    pub(super) fn best_setting(&self) -> Option<&crate::fixes::Fix> {
        self.evidence.fixes.iter().find(|fix| fix.helps && fix.candidate.completes)
    }

    /// How long the job lives if all that was free had been usable.
    pub(super) fn life_unfragmented(&self, per_step: oomph_trace::Bytes) -> Lives {
        let room = self.limit.saturating_sub(self.needed);
        match room.0.checked_div(per_step.0) {
            None if self.need.total <= self.limit => Lives::ForGood,
            None => Lives::Steps(0),
            Some(steps) => Lives::Steps(steps),
        }
    }

    /// Whether what grows by so much with every step would end the job only much later.
    pub(super) fn is_far(&self, per_step: oomph_trace::Bytes) -> bool {
        let far = FAR * self.steps_passed().max(10);
        self.needed <= self.limit
            && matches!(self.life_unfragmented(per_step), Lives::Steps(steps) if steps > far)
    }
}

/// A function's name for a variable in a sentence: `results` in search().
pub(super) fn named(keeper: &Keeper) -> String {
    let function = keeper.place.split(", ").next().filter(|function| !function.is_empty());
    match function {
        Some(function) => format!("`{}` in {function}", keeper.path),
        None => format!("`{}`", keeper.path),
    }
}

/// The line at which the function stands whose variable it is: `search(), train.py:38`.
pub(super) fn line_of(keeper: &Keeper, bytes: oomph_trace::Bytes) -> Option<Culprit> {
    let (function, rest) = keeper.place.split_once("(), ")?;
    let (file, number) = rest.split(", ").next()?.rsplit_once(':')?;
    let line = Line { file: file.to_owned(), line: number.parse().ok()?, function: function.to_owned() };
    Some(Culprit { line, bytes, role: Role::Keeps, code: None })
}

impl Verdict {
    /// Notes the fault's name, which is the same for the same fault, and what people say of it.
    pub(super) fn sealed(mut self) -> Verdict {
        let mut lines: Vec<String> = self
            .culprits
            .iter()
            .take(2)
            .map(|one| format!("{}:{}", one.line.file_name(), one.line.function))
            .collect();
        lines.sort();
        let text = format!("{}/{}/{}", self.cause.name(), self.kind.name(), lines.join("+"));
        // FNV-1a: the same on every machine and in every version.
        let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        self.fingerprint = format!("{}-{hash:016x}", self.kind.name());
        self.folklore = folklore::of(self.kind);
        self
    }

    /// Says why it was not fragmentation, for a failure that was something else.
    pub(super) fn not_fragmentation(self, case: &Case<'_>, lives: Lives) -> Verdict {
        let free = case.limit.saturating_sub(case.evidence.moment.counters.active);
        let why = format!(
            "had all of the {free} not in use been usable, it would have lived {}",
            match lives {
                Lives::Steps(0) => "no step longer".to_owned(),
                lives => lives.words(),
            }
        );
        self.not(Cause::Fragmentation, why)
    }
}

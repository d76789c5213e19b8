//! The ranks of a distributed job: which of them are run, and which needs most.

use std::cmp::Reverse;

use oomph_diagnose::results::plan::{PlannedPeaks, PlannedRank, PlannedWorld};
use oomph_trace::Bytes;
use oomph_trace::sidecar::WorldNote;

use super::cards::{COMMUNICATOR, FIRST_COMMUNICATOR};
use super::trial::Trial;

/// Where ranks leave messages for each other, from the folder of the plan.
pub const MESSAGES: &str = "messages";
/// The same from a folder within it.
pub const MESSAGES_BESIDE: &str = "../messages";
/// Of more stages, so many are run.
const MOST_STAGES: usize = 16;
/// So many ranks are run at most only for what they send.
pub const MOST_SENDERS: usize = 16;

/// The ranks that were run; the first of them first.
#[derive(Debug)]
pub struct Ranks {
    runs: Vec<(u32, Trial)>,
}

impl Ranks {
    /// These runs; there is at least the first.
    pub fn of(first: (u32, Trial), others: Vec<(u32, Trial)>) -> Ranks {
        Ranks { runs: std::iter::once(first).chain(others).collect() }
    }

    /// The rank that needs most, and its run. One that failed comes before all; of equals the lowest.
    pub fn worst(&self) -> (u32, &Trial) {
        let need = |trial: &Trial| {
            let reserved = trial.peaks.map_or(Bytes::ZERO, |peaks| peaks.reserved);
            (trial.failure.is_some(), reserved + trial.beside(Bytes::ZERO))
        };
        let (first, rest) = self.runs.split_first().expect("there is a first rank");
        let worst = rest.iter().fold(first, |worst, run| {
            if (need(&run.1), Reverse(run.0)) > (need(&worst.1), Reverse(worst.0)) { run } else { worst }
        });
        (worst.0, &worst.1)
    }

    /// What the answer says of the ranks, for a card with such a context; `None` where the job is not distributed.
    pub fn world(&self, context: Bytes) -> Option<PlannedWorld> {
        let (worst, trial) = self.worst();
        let note = trial.notes.world.as_ref().filter(|note| note.size > 1)?;
        let mut ranks: Vec<PlannedRank> = self.runs.iter().flat_map(|run| rows(run, context)).collect();
        ranks.sort_by_key(|row| row.rank);
        Some(PlannedWorld { size: note.size, worst, ranks, communicators: note.communicators })
    }

    /// What is not known of the other ranks, in words.
    pub fn caveats(&self) -> Vec<String> {
        let Some(world) = self.world(Bytes::ZERO).filter(|_| self.worst().1.failure.is_none()) else {
            return Vec::new();
        };
        let mut caveats = Vec::new();
        let has_stages = world.ranks.iter().any(|row| row.stage.is_some());
        let mut peaks = world.ranks.iter().map(|row| row.peak_reserved);
        let first = peaks.next();
        let differ = peaks.any(|peak| Some(peak) != first);
        if world.ranks.len() < world.size as usize {
            let names: Vec<String> = world.ranks.iter().map(|row| row.rank.to_string()).collect();
            let more = if differ && !has_stages {
                "; these differ, so others may need more: name them with --rank"
            } else {
                ""
            };
            caveats.push(format!(
                "of {} ranks, {} {} run and the others taken to be like {}{more}",
                world.size,
                names.join(", "),
                if names.len() == 1 { "was" } else { "were" },
                if names.len() == 1 { "it" } else { "them" },
            ));
        }
        let further = world.communicators.saturating_sub(1);
        let each = if further == 0 {
            String::new()
        } else {
            format!(", and {COMMUNICATOR} for each of {further} more")
        };
        caveats.push(format!(
            "NCCL's own memory is an estimate: {FIRST_COMMUNICATOR} for the first communicator{each}, as measured for a world of one on an H200; more ranks and nodes may take more"
        ));
        let worst = &self.worst().1;
        let (late, gathered) = (worst.buckets(), worst.gathered());
        if late > Bytes::ZERO {
            caveats.push(format!(
                "DDP makes its buckets anew in its second step; until NCCL's own thread lets go of the first ones, up to {late} more are held for some steps: counted in full"
            ));
        }
        if gathered > Bytes::ZERO {
            caveats.push(format!(
                "FSDP1 gives a unit's gathered parameters back while the GPU still computes with them; of two units, up to {gathered} more are held meanwhile: counted in full"
            ));
        }
        caveats
    }
}

/// A run's rank, and those that were started beside it.
fn rows((rank, trial): &(u32, Trial), context: Bytes) -> Vec<PlannedRank> {
    let own = trial.peaks.filter(|_| trial.failure.is_none());
    let beside = trial.ranks.iter().filter(|(other, _)| *other != rank);
    let beside = beside.map(|(other, peaks)| row(*other, trial, Some(*peaks), context));
    std::iter::once(row(*rank, trial, own, context)).chain(beside).collect()
}

fn row(rank: u32, trial: &Trial, peaks: Option<PlannedPeaks>, context: Bytes) -> PlannedRank {
    let stages = trial.notes.world.as_ref().map(|note| note.stages.as_slice()).unwrap_or_default();
    PlannedRank {
        rank,
        stage: stages.iter().position(|other| *other == rank).and_then(|at| u32::try_from(at).ok()),
        peak_requested: peaks.map(|peaks| peaks.requested),
        peak_allocated: peaks.map(|peaks| peaks.allocated),
        peak_reserved: peaks.map(|peaks| peaks.reserved),
        process: peaks.map(|peaks| peaks.reserved + trial.beside(context)),
    }
}

/// The ranks to run beside one that was run: every stage of a pipeline, else the last rank. With messages between the
/// stages each needs the one before it, so that none is left out.
pub fn others(note: &WorldNote, has_messages: bool) -> Vec<u32> {
    if note.size < 2 {
        return Vec::new();
    }
    let mut found = match note.stages.as_slice() {
        [] | [_] => vec![note.size - 1],
        stages if has_messages || stages.len() <= MOST_STAGES => stages.to_vec(),
        stages => {
            let gaps = MOST_STAGES - 1;
            (0..MOST_STAGES).map(|n| stages[n * (stages.len() - 1) / gaps]).collect()
        }
    };
    found.retain(|rank| *rank != note.rank);
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use oomph_trace::sidecar::PlanNotes;

    fn note(rank: u32, size: u32, stages: &[u32]) -> WorldNote {
        WorldNote { rank, size, stages: stages.to_vec(), communicators: 1, ..WorldNote::default() }
    }

    fn run(rank: u32, reserved: u64) -> (u32, Trial) {
        let peaks = PlannedPeaks { reserved: Bytes::mib(reserved), ..PlannedPeaks::default() };
        let notes = PlanNotes { world: Some(note(rank, 8, &[])), ..PlanNotes::default() };
        (rank, Trial { peaks: Some(peaks), notes, ..Trial::default() })
    }

    #[test]
    fn the_last_rank_or_every_stage_is_run_beside_the_first() {
        assert_eq!(others(&note(0, 1, &[]), false), [0; 0]);
        assert_eq!(others(&note(0, 8, &[]), false), [7]);
        assert_eq!(others(&note(0, 64, &[0, 16, 32, 48]), false), [16, 32, 48]);
        let many: Vec<u32> = (0..61).collect();
        let spread = others(&note(0, 61, &many), false);
        assert_eq!(spread, [4, 8, 12, 16, 20, 24, 28, 32, 36, 40, 44, 48, 52, 56, 60]);
        assert_eq!(others(&note(0, 61, &many), true).len(), 60);
    }

    #[test]
    fn the_rank_that_needs_most_is_named() {
        let alike = Ranks::of(run(0, 5), vec![run(7, 5)]);
        assert_eq!(alike.worst().0, 0);
        assert_eq!(alike.caveats()[0], "of 8 ranks, 0, 7 were run and the others taken to be like them");
        let mut ranks = Ranks::of(run(0, 5), vec![run(7, 6)]);
        assert_eq!(ranks.world(Bytes::ZERO).map(|world| (world.worst, world.ranks.len())), Some((7, 2)));
        assert!(ranks.caveats()[0].ends_with("these differ, so others may need more: name them with --rank"));
        ranks.runs[0].1.failure = Some(("E".to_owned(), String::new()));
        assert_eq!(ranks.worst().0, 0);
    }
}

//! How many events a second a replay gets through on one core: `replay_rate FILE [ROUNDS]`.

use std::fs::File;
use std::time::Instant;

use oomph_engine::recording::{Known, Recording};
use oomph_engine::replay::{OnFailure, Setup, replay};
use oomph_engine::torch::options::Options;
use oomph_trace::read_snapshot;

#[expect(clippy::print_stdout, reason = "the result of a measuring program is what it prints")]
fn main() {
    let mut words = std::env::args().skip(1);
    let path = words.next().expect("usage: replay_rate FILE [ROUNDS]");
    let rounds: u32 = words.next().map_or(5, |rounds| rounds.parse().expect("ROUNDS is a number"));
    let snapshot = read_snapshot(File::open(path).expect("the file opens")).expect("the file is a snapshot");
    let recording = Recording::understand(snapshot.clone(), 0, Known::default());
    let events = recording.trace().events.len() as f64;
    for (name, options) in [
        ("recorded settings", recording.setup.options.clone()),
        ("expandable_segments:True", Options { expandable_segments: true, ..Options::default() }),
    ] {
        let start = recording.start_for(&options);
        let setup = Setup { options, ..recording.setup.clone() };
        let mut rates: Vec<f64> = (0..rounds)
            .map(|_| {
                let began = Instant::now();
                let done = replay(&recording.program, &setup, start, OnFailure::FollowRecording);
                assert!(done.peaks.reserved.bytes.0 > 0, "the replay did nothing");
                events / began.elapsed().as_secs_f64() / 1e6
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        println!("{name}\t{:.1}", rates[rates.len() / 2]);
    }
}

//! The search over settings: which to try, what a replay says of each, and which is best.

use oomph_engine::recording::Recording;
use oomph_engine::replay::{OnFailure, Outcome, Setup, replay, requests_served};
use oomph_engine::torch::options::Options;
use oomph_engine::torch::profile::Profile;
use oomph_trace::Bytes;
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

/// A smallest limit is searched to this share of it.
const PRECISION: u64 = 1024;
/// The size of the driver's pages: a finer search would find nothing more.
const FINEST: Bytes = Bytes::mib(2);
/// Two settings this close are equally good; then the simpler one is better.
const CLOSE: f64 = 0.01;
/// Where memory is plentiful, a setting may hold at most this many times as much as the recorded one.
const GREEDY: f64 = 1.02;

/// What replays say of one setting.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Candidate {
    /// The settings; `""` for defaults.
    #[serde(rename = "settings", serialize_with = "as_text")]
    #[schemars(with = "String")]
    pub options: Options,
    /// Held with memory to spare; with garbage collection, which needs a limit, under the limit.
    pub peak_reserved: Bytes,
    /// The least limit that completes, to 0.1% or 2 MiB; null where none up to twice the peak does.
    pub smallest_limit: Option<Bytes>,
    /// Whether every request is served under `limit`.
    pub completes: bool,
    /// How much more could be asked for after the request that failed, in requests of its size; null where none
    /// failed, or it still does.
    pub room: Option<Bytes>,
    /// How often the whole cache is dropped under `limit`.
    pub retries: u64,
    /// Calls of the driver under `limit`; each costs 10 to 600 µs, and freeing waits for the GPU.
    pub driver_calls: u64,
}

/// Settings as PyTorch reads them.
fn as_text<S: Serializer>(options: &Options, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(options)
}

/// What is searched, and under which limit.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// What may be held; `None`: as much as it takes.
    pub limit: Option<Bytes>,
}

impl<'a> Search<'a> {
    /// A search under the limit of the recording, or the one given instead.
    pub fn new(recording: &'a Recording, limit: Option<Bytes>) -> Search<'a> {
        Search { recording, limit: limit.or_else(|| recording.ceiling()) }
    }

    /// Every setting worth a try, the recorded one first, none twice.
    pub fn candidates(&self) -> Vec<Options> {
        self.distinct(|_| true)
    }

    /// The few that most often help, for a quick answer.
    pub fn shortlist(&self) -> Vec<Options> {
        self.distinct(|options| SHORTLIST.contains(&options.to_string().as_str()))
    }

    /// The recorded settings, the defaults, and those of the grid that `chosen` takes; none twice.
    fn distinct(&self, chosen: impl Fn(&Options) -> bool) -> Vec<Options> {
        let recorded = &self.recording.setup.options;
        let grid = grid(&self.recording.setup.profile, self.limit.is_some());
        let mut distinct: Vec<Options> = vec![recorded.clone()];
        for mut options in std::iter::once(Options::default()).chain(grid.filter(chosen)) {
            // These are the program's own business, not something to tune.
            options.per_process_memory_fraction = recorded.per_process_memory_fraction;
            options.expandable_segments_reserve = recorded.expandable_segments_reserve;
            if !distinct.contains(&options) {
                distinct.push(options);
            }
        }
        distinct
    }

    /// Replays one setting with memory to spare, under the limit, and under ever smaller ones.
    pub fn evaluate(&self, options: &Options) -> Candidate {
        let quick = self.evaluate_at_limit(options);
        let mut high = quick.peak_reserved;
        let mut low = self.floor();
        // Expandable segments are refused for more than they would map, so their own peak may not suffice.
        while !self.fits(options, high) {
            if high.0 > quick.peak_reserved.0.saturating_mul(2) {
                return Candidate { smallest_limit: None, ..quick };
            }
            high += Bytes(high.0 / 32).max(FINEST);
        }
        if let Some(limit) = self.limit.filter(|limit| *limit < high) {
            if quick.completes { high = limit } else { low = low.max(limit) }
        }
        while high > low + FINEST.max(Bytes(high.0 / PRECISION)) {
            let middle = Bytes(low.0 + (high.0 - low.0) / 2);
            if self.fits(options, middle) { high = middle } else { low = middle }
        }
        Candidate { smallest_limit: Some(high), ..quick }
    }

    /// Replays one setting with memory to spare and under the limit only; the smallest limit stays unknown.
    pub fn evaluate_at_limit(&self, options: &Options) -> Candidate {
        let limited = self.run(options, self.limit, OnFailure::FollowRecording);
        let collects = options.garbage_collection_threshold > 0.0;
        // A limit that never bound changes nothing; releasing oversized blocks for it is not counted as a retry.
        let bound = limited.tally.retries > 0 || !limited.completes() || options.max_split_size.is_some();
        let spare = match self.limit {
            Some(_) if bound && !collects => self.run(options, None, OnFailure::FollowRecording),
            _ => limited,
        };
        Candidate {
            options: options.clone(),
            peak_reserved: spare.peaks.reserved.bytes,
            room: if limited.completes() { self.room(options) } else { None },
            smallest_limit: None,
            completes: limited.completes(),
            retries: limited.tally.retries,
            driver_calls: limited.tally.driver_grows + limited.tally.driver_shrinks,
        }
    }

    /// No setting can do with less than what was asked for at the peak.
    fn floor(&self) -> Bytes {
        self.recording.peaks.requested.bytes
    }

    fn fits(&self, options: &Options, limit: Bytes) -> bool {
        self.run(options, Some(limit), OnFailure::Stop).completes()
    }

    fn room(&self, options: &Options) -> Option<Bytes> {
        self.limit?;
        let (program, start) = (&self.recording.program, self.recording.start_for(options));
        let (served, size) = requests_served(program, &self.setup(options, self.limit), start)?;
        Some(Bytes(served.saturating_sub(1).saturating_mul(size.0)))
    }

    fn run(&self, options: &Options, limit: Option<Bytes>, on_failure: OnFailure) -> Outcome {
        let (program, start) = (&self.recording.program, self.recording.start_for(options));
        replay(program, &self.setup(options, limit), start, on_failure)
    }

    /// Where the card itself refused, its capacity is taken as a limit.
    fn setup(&self, options: &Options, limit: Option<Bytes>) -> Setup {
        Setup { profile: self.recording.setup.profile, options: options.clone(), limit, capacity: None }
    }
}

/// The few settings that most often help, under the limit only, one after another.
pub fn evaluate_shortlist(search: &Search<'_>) -> Vec<Candidate> {
    search.shortlist().iter().map(|options| search.evaluate_at_limit(options)).collect()
}

/// Which candidate to recommend, as its place in the list whose first is the recorded setting; `None`: none helps.
///
/// A setting that completes beats one that does not; then the smaller limit it needs, to 1%; then the simpler one.
/// Where memory is plentiful, a setting that would hold much more than now is not recommended, little as it needs.
pub fn best(candidates: &[Candidate]) -> Option<usize> {
    let need = |candidate: &Candidate| candidate.smallest_limit.map_or(u64::MAX, |limit| limit.0);
    let recorded = candidates.first()?;
    let plentiful = recorded.completes && recorded.retries == 0;
    let most = (recorded.peak_reserved.0 as f64 * GREEDY) as u64;
    let someone_completes = candidates.iter().any(|candidate| candidate.completes);
    let eligible = |candidate: &Candidate| {
        (candidate.completes || !someone_completes) && (!plentiful || candidate.peak_reserved.0 <= most)
    };
    let lowest = candidates.iter().filter(|candidate| eligible(candidate)).map(need).min()?;
    let close = lowest.saturating_add((lowest as f64 * CLOSE) as u64);
    let near = candidates.iter().enumerate().filter(|(_, found)| eligible(found) && need(found) <= close);
    let (index, found) = near.min_by_key(|(index, candidate)| {
        let options = &candidate.options;
        (risks(options).len(), options.keys().len(), candidate.peak_reserved, need(candidate), *index)
    })?;
    let helps = !recorded.completes && found.completes
        || need(found) < need(recorded).saturating_sub((need(recorded) as f64 * CLOSE) as u64);
    (index > 0 && helps).then_some(index)
}

/// Known side effects of settings, worth a warning next to the advice.
pub fn risks(options: &Options) -> Vec<&'static str> {
    let keys = options.keys();
    let is_of = |risk: &&&str| keys.iter().any(|key| risk.starts_with(&format!("{key}: ")));
    RISKS.iter().filter(is_of).copied().collect()
}

/// Each begins with the setting it is about.
const RISKS: &[&str] = &[
    "expandable_segments: tensors cannot be shared over CUDA IPC with older receivers, \
     and some MemPool users and custom all-reduce kernels fail; near the limit it is slower",
    "large_segment_size_mb: PyTorch before 2.11 refuses it",
    "max_split_size_mb: large blocks are not reused for smaller requests; \
     with varying shapes it often holds more, not less",
    "roundup_power2_divisions: every request is rounded up, which costs memory by itself",
    "garbage_collection_threshold: works only with a memory fraction set, \
     and every release waits for the GPU",
];

/// The settings of [`Search::shortlist`], as they print.
const SHORTLIST: [&str; 9] = [
    "expandable_segments:True",
    "expandable_segments:True,large_segment_size_mb:12",
    "large_segment_size_mb:12",
    "max_split_size_mb:128",
    "max_split_size_mb:512",
    "roundup_power2_divisions:8",
    "large_segment_size_mb:64",
    "garbage_collection_threshold:0.8",
    "expandable_segments:True,large_segment_size_mb:64",
];

/// The space of settings: each option alone at the values people use, and the pairs that can help each other. Each row
/// is a list of settings in which `#` stands for each of the values.
const GRID: &[(&[&str], &str)] = &[
    (&["expandable_segments:True"], ""),
    (&["max_split_size_mb:#"], "20 32 64 128 256 512 1024"),
    (&["roundup_power2_divisions:#", "roundup_power2_divisions:#,expandable_segments:True"], "2 4 8 16 32"),
    (
        &["large_segment_size_mb:#", "large_segment_size_mb:#,expandable_segments:True"],
        "12 16 32 48 64 96 128 192 256 512",
    ),
    (
        &[
            "large_segment_size_mb:#,max_split_size_mb:512",
            "large_segment_size_mb:#,roundup_power2_divisions:8",
        ],
        "64 128",
    ),
    (&["max_split_size_mb:#,max_non_split_rounding_mb:256"], "64 256"),
    (&["max_split_size_mb:#,roundup_power2_divisions:8"], "64 256"),
    (&["garbage_collection_threshold:#"], "0.6 0.8 0.9"),
    (&["garbage_collection_threshold:0.8,max_split_size_mb:128"], ""),
];

/// The settings of the grid that this version of PyTorch has; garbage collection only where there is a limit.
fn grid(profile: &Profile, has_limit: bool) -> impl Iterator<Item = Options> {
    let rows =
        GRID.iter().flat_map(|(settings, values)| values.split(' ').map(move |value| (*settings, value)));
    let texts = rows.flat_map(|(settings, value)| settings.iter().map(move |text| text.replace('#', value)));
    let known = texts.filter_map(move |text| Options::parse(&text, profile).ok());
    known.filter(move |options| has_limit || options.garbage_collection_threshold == 0.0)
}

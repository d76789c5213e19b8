//! What is rare among the events of a trace, found in one pass. A long recording has millions of events and a few thousand
//! calls of the driver: whoever needs only those does not read all of it again.

use oomph_trace::{Action, Event, PoolIdx, Stream, Trace};

/// What one pass finds. It says the same for every reading of the trace.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    /// Calls of the driver and requests that failed, by their place among the events, in order.
    rare: Vec<u32>,
    /// The pools that events name, each once.
    pub(super) pools: Vec<PoolIdx>,
    /// The streams of events, in order of their handles.
    pub(super) streams: Vec<Stream>,
    /// How many requests were granted.
    pub(super) requests: usize,
    /// How many allocations were given back.
    pub(super) frees: usize,
    /// Whether the recording says when frees are complete.
    pub(super) frees_complete: bool,
}

impl Survey {
    pub(crate) fn of(trace: &Trace) -> Survey {
        let mut found = Survey::default();
        // Neighbours mostly share theirs.
        let (mut stream, mut pool) = (None, None);
        for (index, event) in trace.events.iter().enumerate() {
            match event.action {
                Action::Alloc => found.requests += 1,
                Action::FreeRequested => found.frees += 1,
                Action::FreeCompleted => found.frees_complete = true,
                Action::Oom => found.rare.push(index as u32),
                action if action.is_driver_call() => found.rare.push(index as u32),
                _ => {}
            }
            if stream != Some(event.stream) {
                stream = Some(event.stream);
                found.streams.push(event.stream);
            }
            if event.pool.is_some() && event.pool != pool {
                pool = event.pool;
                found.pools.extend(pool);
            }
        }
        found.streams.sort_unstable();
        found.streams.dedup();
        found.pools.sort_unstable_by_key(|pool| pool.0);
        found.pools.dedup();
        found
    }

    /// Calls of the driver and requests that failed, with their places.
    pub(super) fn rare<'a>(
        &'a self,
        trace: &'a Trace,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Event)> + use<'a> {
        self.rare.iter().map(|index| (*index as usize, &trace.events[*index as usize]))
    }

    /// Calls of the driver, with their places.
    pub(crate) fn driver<'a>(
        &'a self,
        trace: &'a Trace,
    ) -> impl DoubleEndedIterator<Item = (usize, &'a Event)> + use<'a> {
        self.rare(trace).filter(|(_, event)| event.action.is_driver_call())
    }
}

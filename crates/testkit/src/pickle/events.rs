//! The entries of a trace.

use std::collections::HashMap;
use std::io::{self, Write};

use oomph_engine::torch::profile::Version;
use oomph_trace::{Action, Addr, Event, StackId};

use super::Writer;
use super::encoder::Memo;

/// Lists of frames that later entries may share, because PyTorch recorded both with one context.
#[derive(Default)]
struct Shared {
    /// Of a free that is not complete, by its address.
    frees: HashMap<Addr, (StackId, Memo)>,
    /// Of the driver call just before.
    call: Option<(StackId, Memo)>,
}

impl<W: Write> Writer<'_, W> {
    /// Writes one device's trace. `blocks`: the lists of the final blocks, which share that of their allocation.
    pub(super) fn events(
        &mut self,
        events: &[Event],
        blocks: &HashMap<Addr, (StackId, Memo)>,
    ) -> io::Result<()> {
        let mut of_alloc: HashMap<usize, (StackId, Memo)> = HashMap::new();
        let mut missing = blocks.clone();
        for (index, event) in events.iter().enumerate().rev().take_while(|_| !blocks.is_empty()) {
            if event.action == Action::Alloc
                && let Some(shared) = missing.remove(&event.addr)
            {
                of_alloc.insert(index, shared);
            }
        }
        let mut shared = Shared::default();
        let list = self.out.open_list(events.len());
        for (index, event) in events.iter().enumerate() {
            self.out.item(index, events.len());
            self.event(event, of_alloc.get(&index).copied(), &mut shared)?;
        }
        self.out.close_list(list)?;
        Ok(())
    }

    fn event(
        &mut self,
        event: &Event,
        block: Option<(StackId, Memo)>,
        shared: &mut Shared,
    ) -> io::Result<()> {
        let since = |minor| self.version >= Version::two(minor);
        let (time, compile, metadata, pool) = (since(2), since(8), since(10), since(12));
        let extra = [time, compile, metadata, pool, event.stack.is_some()];
        let dict = self.out.open_dict(4 + extra.iter().filter(|has| **has).count());
        self.word("action");
        self.word(event.action.name());
        self.word(if event.action == Action::Oom { "device_free" } else { "addr" });
        self.out.int(event.addr.0.into());
        self.word("size");
        self.out.int(event.size.0.into());
        self.word("stream");
        self.out.int(event.stream.0.into());
        if time {
            self.word("time_us");
            self.out.int(event.time_us.into());
        }
        if compile {
            self.word("compile_context");
            self.words.text(&mut self.out, "N/A");
        }
        if metadata {
            self.word("user_metadata");
            match event.metadata {
                Some(text) => self.words.text(&mut self.out, self.snapshot.texts.get(text)),
                None => self.word(""),
            }
        }
        if pool {
            self.word("pool_id");
            let id = event.pool.map(|pool| self.snapshot.pool_id(pool)).unwrap_or_default();
            self.out.pair(id.0, id.1);
        }
        if let Some(stack) = event.stack {
            self.word("frames");
            self.event_frames(event, stack, block, shared)?;
        } else {
            shared.call = None;
        }
        self.out.close_dict(dict)?;
        Ok(())
    }

    fn event_frames(
        &mut self,
        event: &Event,
        stack: StackId,
        block: Option<(StackId, Memo)>,
        shared: &mut Shared,
    ) -> io::Result<()> {
        let call = shared.call.take();
        let known = match event.action {
            Action::FreeCompleted => shared.frees.remove(&event.addr),
            Action::Alloc => call.or(block),
            action if action.is_driver_call() => call,
            _ => None,
        };
        let memo = match known.filter(|(of, _)| *of == stack) {
            Some((_, memo)) => {
                self.out.again(memo);
                memo
            }
            None => self.frames.list(&mut self.out, &mut self.words, stack)?,
        };
        if event.action == Action::FreeRequested {
            shared.frees.insert(event.addr, (stack, memo));
        }
        if event.action.is_driver_call() {
            shared.call = Some((stack, memo));
        }
        Ok(())
    }
}

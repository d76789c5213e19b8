//! The dict of one trace entry becomes an [`Event`].

use super::records::{Records, TorchHeap, TorchValue};
use super::words;
use crate::event::{Action, Event, PoolIdx, Stream};
use crate::pickle::Value;
use crate::stack::StackId;
use crate::text::{TextId, Texts};
use crate::units::{Addr, Bytes};

/// Why a dict is not an event, block or segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// A field is not there.
    Missing(&'static str),
    /// A field holds something of another kind.
    Wrong(&'static str),
    /// An unknown action.
    Action(TextId),
    /// The frames are not a list of frames.
    Frames,
}

impl Fault {
    /// The fault in words.
    pub(super) fn describe(self, texts: &Texts) -> String {
        match self {
            Fault::Missing(field) => format!("`{field}` is missing"),
            Fault::Wrong(field) => format!("`{field}` holds something no PyTorch writes there"),
            Fault::Action(word) => format!("unknown action `{}`", texts.get(word)),
            Fault::Frames => "`frames` is not a list of frames".to_owned(),
        }
    }
}

/// An event whose fields are being read.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Draft {
    action: Option<Action>,
    addr: Option<u64>,
    /// An OOM has this instead of an address.
    device_free: Option<u64>,
    size: Option<u64>,
    stream: Option<u64>,
    time_us: u64,
    stack: Option<StackId>,
    metadata: Option<TextId>,
    pool: Option<PoolIdx>,
}

impl Draft {
    /// An event that gets further fields.
    pub(super) fn of(event: Event) -> Draft {
        Draft {
            action: Some(event.action),
            addr: Some(event.addr.0),
            device_free: None,
            size: Some(event.size.0),
            stream: Some(event.stream.0),
            time_us: event.time_us,
            stack: event.stack,
            metadata: event.metadata,
            pool: event.pool,
        }
    }

    /// Reads a dict's items: key, value, key, value.
    pub(super) fn read(
        &mut self,
        items: &[TorchValue],
        records: &mut Records,
        heap: &mut TorchHeap,
    ) -> Result<(), Fault> {
        for pair in items.chunks_exact(2) {
            let [Value::Text(key), value] = pair else { continue };
            match *key {
                words::ACTION => match *value {
                    Value::Text(word) => self.action = Some(words::action(word).ok_or(Fault::Action(word))?),
                    _ => return Err(Fault::Wrong("action")),
                },
                words::ADDR => self.addr = Some(value.as_bits().ok_or(Fault::Wrong("addr"))?),
                words::DEVICE_FREE => {
                    self.device_free = Some(value.as_u64().ok_or(Fault::Wrong("device_free"))?);
                }
                words::SIZE => self.size = Some(value.as_u64().ok_or(Fault::Wrong("size"))?),
                words::STREAM => self.stream = Some(value.as_bits().ok_or(Fault::Wrong("stream"))?),
                words::TIME_US => {
                    records.fields.time_us = true;
                    self.time_us = value.as_u64().ok_or(Fault::Wrong("time_us"))?;
                }
                words::COMPILE_CONTEXT => records.fields.compile_context = true,
                words::USER_METADATA => {
                    records.fields.user_metadata = true;
                    self.metadata = match *value {
                        Value::Text(text) if text != words::EMPTY => Some(text),
                        _ => None,
                    };
                }
                words::POOL_ID => {
                    records.fields.pool_id = true;
                    self.pool = Some(records.pool(*value, heap).ok_or(Fault::Wrong("pool_id"))?);
                }
                words::INTERNAL_METADATA => records.fields.internal_metadata = true,
                words::FORWARD_FRAMES => records.fields.forward_frames = true,
                words::FRAMES => self.stack = records.stack(*value, heap)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// The event, if all that an event must have was read.
    #[inline(always)]
    pub(super) fn event(&self) -> Result<Event, Fault> {
        let action = self.action.ok_or(Fault::Missing("action"))?;
        let addr = match action {
            Action::Oom => self.device_free.or(self.addr).ok_or(Fault::Missing("device_free"))?,
            _ => self.addr.ok_or(Fault::Missing("addr"))?,
        };
        Ok(Event {
            addr: Addr(addr),
            size: Bytes(self.size.ok_or(Fault::Missing("size"))?),
            stream: Stream(self.stream.ok_or(Fault::Missing("stream"))?),
            time_us: self.time_us,
            stack: self.stack,
            metadata: self.metadata,
            pool: self.pool,
            action,
        })
    }
}

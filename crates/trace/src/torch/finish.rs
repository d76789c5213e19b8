//! From the pickle's one value to a [`Snapshot`].

use std::collections::BTreeMap;

use super::event::{Draft, Fault};
use super::lookup::{Dict, take_list};
use super::records::{Record, Records, TorchHeap, TorchValue};
use super::sidecar::Plain;
use super::{segment, settings, words};
use crate::error::ReadError;
use crate::event::Event;
use crate::pickle::{Kind, Object, Outcome, Value};
use crate::sidecar::Sidecar;
use crate::snapshot::{Annotation, RecordedSettings, Snapshot, Trace};
use crate::text::TextId;

/// The device number of host memory.
const HOST: i32 = -1;

/// Reads the snapshot's parts out of the pickle's value.
pub(super) fn finish(outcome: Outcome<Records>) -> Result<Snapshot, ReadError> {
    let Outcome { value, heap, shapes } = outcome;
    let mut parts = Parts {
        records: shapes,
        heap,
        traces: BTreeMap::new(),
        settings: None,
        annotations: Vec::new(),
        sidecar: None,
    };
    if is_segment_list(value, &parts.heap) {
        parts.segments(value, None)?;
    } else {
        parts.top_level(value)?;
    }
    Ok(parts.into_snapshot())
}

struct Parts {
    records: Records,
    heap: TorchHeap,
    traces: BTreeMap<i32, Trace>,
    settings: Option<RecordedSettings>,
    annotations: Vec<Annotation>,
    sidecar: Option<Sidecar>,
}

impl Parts {
    fn top_level(&mut self, value: TorchValue) -> Result<(), ReadError> {
        let not_snapshot = |found: String| Err(ReadError::NotSnapshot { found });
        let Some(dict) = Dict::take(value, &mut self.heap) else {
            return not_snapshot(kind(value).to_owned());
        };
        if !dict.has(words::SEGMENTS) && !dict.has(words::DEVICE_TRACES) {
            return not_snapshot(self.keys(&dict));
        }
        if let Some(value) = dict.get(words::OOMPH) {
            let plain = Plain::new(value, &self.heap, &self.records);
            self.sidecar = plain.is_dict().then(|| Sidecar::read(plain));
        }
        if let Some(traces) = dict.get(words::DEVICE_TRACES) {
            self.device_traces(traces)?;
        }
        if let Some(segments) = dict.get(words::SEGMENTS) {
            self.segments(segments, None)?;
        }
        if let Some(traces) = dict.get(words::HOST_TRACES) {
            self.records.fields.host = true;
            self.host_traces(traces)?;
        }
        if let Some(segments) = dict.get(words::HOST_SEGMENTS) {
            self.records.fields.host = true;
            self.segments(segments, Some(HOST))?;
        }
        if let Some(value) = dict.get(words::ALLOCATOR_SETTINGS) {
            self.records.fields.allocator_settings = true;
            self.settings = settings::settings(value, &mut self.records, &mut self.heap);
        }
        if let Some(value) = dict.get(words::EXTERNAL_ANNOTATIONS) {
            self.records.fields.external_annotations = true;
            self.annotations(value)?;
        }
        Ok(())
    }

    fn device_traces(&mut self, value: TorchValue) -> Result<(), ReadError> {
        let lists = self.list(value, "device_traces")?;
        for (device, events) in lists.into_iter().enumerate() {
            let device = i32::try_from(device).unwrap_or(i32::MAX);
            let events = self.events(device, events)?;
            if !events.is_empty() {
                self.trace(device).events = events;
            }
        }
        Ok(())
    }

    /// Host traces come as one list of events, or as a list of such lists.
    fn host_traces(&mut self, value: TorchValue) -> Result<(), ReadError> {
        let is_events = |value| matches!(value, Value::Record(Record::Part(_), _));
        let is_list = |value| is_events(value) || matches!(value, Value::Empty(..) | Value::List(_));
        let nested = match self.heap.current(value) {
            Value::List(index) => match self.heap.object(index) {
                Object::List(items) => items.iter().all(|item| is_list(self.heap.current(*item))),
                _ => false,
            },
            _ => false,
        };
        let lists = if nested { self.list(value, "host_traces")? } else { vec![value] };
        for list in lists {
            let mut events = self.events(HOST, list)?;
            self.trace(HOST).events.append(&mut events);
        }
        Ok(())
    }

    fn events(&mut self, device: i32, value: TorchValue) -> Result<Vec<Event>, ReadError> {
        if let Value::Record(Record::Part(part), _) = self.heap.current(value) {
            return self.records.take_part(part).ok_or_else(|| ReadError::Content {
                place: format!("device {device}"),
                problem: "its events are those of another device".to_owned(),
            });
        }
        let items = self.list(value, "device_traces")?;
        let mut events = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            let event = self.event(item);
            events.push(event.map_err(|fault| self.fault(format!("device {device}, event {index}"), fault))?);
        }
        Ok(events)
    }

    fn event(&mut self, value: TorchValue) -> Result<Event, Fault> {
        match self.heap.current(value) {
            Value::Record(Record::Event(index), _) => {
                self.records.events.get(index as usize).copied().ok_or(Fault::Wrong("device_traces"))
            }
            other => {
                let dict = Dict::take(other, &mut self.heap).ok_or(Fault::Wrong("device_traces"))?;
                let mut draft = Draft::default();
                draft.read(dict.items(), &mut self.records, &mut self.heap)?;
                draft.event()
            }
        }
    }

    /// Reads a list of segments; `device` overrules what they say.
    fn segments(&mut self, value: TorchValue, device: Option<i32>) -> Result<(), ReadError> {
        for (index, item) in self.list(value, "segments")?.into_iter().enumerate() {
            let read = segment::segment(item, &mut self.records, &mut self.heap);
            let (stated, segment) = read.map_err(|fault| self.fault(format!("segment {index}"), fault))?;
            self.trace(device.unwrap_or(stated)).segments.push(segment);
        }
        Ok(())
    }

    fn annotations(&mut self, value: TorchValue) -> Result<(), ReadError> {
        for (index, item) in self.list(value, "external_annotations")?.into_iter().enumerate() {
            let annotation = self.annotation(item);
            let annotation = annotation.map_err(|fault| self.fault(format!("annotation {index}"), fault))?;
            self.annotations.push(annotation);
        }
        Ok(())
    }

    fn annotation(&mut self, value: TorchValue) -> Result<Annotation, Fault> {
        let dict = Dict::take(value, &mut self.heap).ok_or(Fault::Wrong("external_annotations"))?;
        let text = |key: TextId, name| match dict.get(key) {
            Some(Value::Text(text)) => Ok(text),
            Some(_) => Err(Fault::Wrong(name)),
            None => Err(Fault::Missing(name)),
        };
        let device = match dict.get(words::DEVICE) {
            Some(Value::Int(device)) => i32::try_from(device).map_err(|_| Fault::Wrong("device"))?,
            _ => HOST,
        };
        Ok(Annotation {
            name: text(words::NAME, "name")?,
            starts: text(words::STAGE, "stage")? == words::START,
            device,
            time_us: dict.required(words::TIME_US, "time_us")?,
        })
    }

    fn list(&mut self, value: TorchValue, name: &str) -> Result<Vec<TorchValue>, ReadError> {
        take_list(value, &mut self.heap).ok_or_else(|| ReadError::Content {
            place: format!("`{name}`"),
            problem: match self.heap.current(value) {
                Value::List(_) => "the same list is used twice".to_owned(),
                other => format!("a list is expected, this is {}", kind(other)),
            },
        })
    }

    fn trace(&mut self, device: i32) -> &mut Trace {
        self.traces.entry(device).or_insert_with(|| Trace { device, ..Trace::default() })
    }

    fn fault(&self, place: String, fault: Fault) -> ReadError {
        ReadError::Content { place, problem: fault.describe(&self.heap.texts) }
    }

    /// The first keys of a dict that is not a snapshot, for the error.
    fn keys(&self, dict: &Dict) -> String {
        let name = |key| match key {
            Value::Text(text) => {
                let key = self.heap.texts.get(text);
                format!("`{}`", key.chars().take(40).collect::<String>().escape_debug())
            }
            other => kind(other).to_owned(),
        };
        let names: Vec<String> = dict.pairs().take(4).map(|(key, _)| name(key)).collect();
        match names.len() {
            0 => "an empty dict".to_owned(),
            _ => format!("a dict with {}", names.join(", ")),
        }
    }

    fn into_snapshot(self) -> Snapshot {
        let Parts { records, heap, traces, settings, annotations, sidecar } = self;
        let mut traces: Vec<Trace> = traces.into_values().collect();
        traces.retain(|trace| !trace.events.is_empty() || !trace.segments.is_empty());
        for trace in &mut traces {
            trace.segments.sort_by_key(|segment| segment.addr);
        }
        Snapshot {
            traces,
            settings,
            annotations,
            pools: records.pools.into_ids(),
            stacks: records.stacks,
            texts: heap.texts,
            fields: records.fields,
            sidecar,
        }
    }
}

/// Whether the value is what `torch.cuda.memory_snapshot` returns: a list of segments, perhaps none.
fn is_segment_list(value: TorchValue, heap: &TorchHeap) -> bool {
    let Value::List(index) = value else {
        return matches!(value, Value::Empty(Kind::List, _));
    };
    let Object::List(items) = heap.object(index) else { return false };
    let Some(Value::Dict(first)) = items.first().map(|first| heap.current(*first)) else { return false };
    let Object::Dict(first) = heap.object(first) else { return false };
    first.chunks_exact(2).any(|pair| matches!(pair[0], Value::Text(words::BLOCKS | words::TOTAL_SIZE)))
}

/// What a value is, for an error.
fn kind(value: TorchValue) -> &'static str {
    match value {
        Value::None => "None",
        Value::Opaque => "bytes, a set or a huge integer",
        Value::Bool(_) => "a bool",
        Value::Int(_) | Value::Big(_) => "an integer",
        Value::Float(_) => "a float",
        Value::Text(_) => "a text",
        Value::Empty(Kind::Dict, _) | Value::Dict(_) => "a dict",
        Value::Empty(Kind::List, _) | Value::List(_) => "a list",
        Value::Record(Record::Part(_) | Record::Stack(_), _) => "a list",
        Value::Tuple(_) | Value::Record(Record::Pair(_), _) => "a tuple",
        Value::Record(Record::Event(_), _) => "one event of a trace",
        Value::Record(Record::Frame(_), _) => "one frame",
    }
}

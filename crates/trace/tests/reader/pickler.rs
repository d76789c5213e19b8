//! Pickles for tests, in the ways CPython and PyTorch's C++ code write them.

use std::collections::HashMap;

/// A value to pickle.
#[derive(Clone, Debug)]
pub(crate) enum V {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<V>),
    Dict(Vec<(V, V)>),
    Tuple(Vec<V>),
    /// A value that is one object wherever this number occurs.
    Shared(u32, Box<V>),
}

pub(crate) fn text(text: &str) -> V {
    V::Text(text.to_owned())
}

pub(crate) fn dict<const N: usize>(items: [(&str, V); N]) -> V {
    V::Dict(items.into_iter().map(|(key, value)| (text(key), value)).collect())
}

pub(crate) fn list(items: impl IntoIterator<Item = V>) -> V {
    V::List(items.into_iter().collect())
}

impl From<i128> for V {
    fn from(n: i128) -> V {
        V::Int(n)
    }
}

/// Who writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Writer {
    /// CPython's pickle of a protocol; `batch` items are added to a container at once (CPython: 1000).
    Python { protocol: u8, batch: usize },
    /// PyTorch's C++ pickler: containers are put into the memo after they were filled.
    Cpp,
}

/// All ways to write that the reader must understand.
pub(crate) const WRITERS: [Writer; 9] = [
    Writer::Python { protocol: 2, batch: 1000 },
    Writer::Python { protocol: 3, batch: 1000 },
    Writer::Python { protocol: 4, batch: 1000 },
    Writer::Python { protocol: 5, batch: 1000 },
    Writer::Python { protocol: 4, batch: 5 },
    Writer::Python { protocol: 4, batch: 4 },
    Writer::Python { protocol: 4, batch: 3 },
    Writer::Python { protocol: 4, batch: 1 },
    Writer::Cpp,
];

pub(crate) fn pickle(value: &V, writer: Writer) -> Vec<u8> {
    let (protocol, batch, cpp) = match writer {
        Writer::Python { protocol, batch } => (protocol, batch, false),
        Writer::Cpp => (2, usize::MAX, true),
    };
    let mut pickler = Pickler {
        out: vec![0x80, protocol],
        protocol,
        batch,
        cpp,
        next: 0,
        texts: HashMap::new(),
        shared: HashMap::new(),
    };
    if protocol >= 4 {
        pickler.out.push(0x95);
        pickler.out.extend(0u64.to_le_bytes());
    }
    pickler.value(value, None);
    pickler.out.push(b'.');
    pickler.out
}

struct Pickler {
    out: Vec<u8>,
    protocol: u8,
    batch: usize,
    cpp: bool,
    next: u32,
    texts: HashMap<String, u32>,
    shared: HashMap<u32, u32>,
}

impl Pickler {
    /// Writes a value; `name` is the number under which it is shared.
    fn value(&mut self, value: &V, name: Option<u32>) {
        match value {
            V::None => self.out.push(b'N'),
            V::Bool(true) => self.out.push(0x88),
            V::Bool(false) => self.out.push(0x89),
            V::Int(n) => self.int(*n),
            V::Float(x) => {
                self.out.push(b'G');
                self.out.extend(x.to_be_bytes());
            }
            V::Text(text) => self.text(text),
            V::Shared(name, value) => match self.shared.get(name) {
                Some(&slot) => self.get(slot),
                None => self.value(value, Some(*name)),
            },
            V::Tuple(items) => {
                assert_eq!(items.len(), 2);
                items.iter().for_each(|item| self.value(item, None));
                self.out.push(0x86);
                self.put(name);
            }
            V::List(items) => {
                self.out.push(b']');
                let items: Vec<[&V; 1]> = items.iter().map(|item| [item]).collect();
                self.fill(&items, name, b'a', b'e');
            }
            V::Dict(items) => {
                self.out.push(b'}');
                let items: Vec<[&V; 2]> = items.iter().map(|(key, value)| [key, value]).collect();
                self.fill(&items, name, b's', b'u');
            }
        }
    }

    fn fill<const N: usize>(&mut self, items: &[[&V; N]], name: Option<u32>, one: u8, many: u8) {
        if self.cpp {
            self.out.push(b'(');
            items.iter().flatten().for_each(|item| self.value(item, None));
            self.out.push(many);
            if name.is_some() {
                self.put(name);
            }
            return;
        }
        self.put(name);
        for batch in items.chunks(self.batch) {
            if batch.len() > 1 {
                self.out.push(b'(');
            }
            batch.iter().flatten().for_each(|item| self.value(item, None));
            self.out.push(if batch.len() > 1 { many } else { one });
        }
    }

    fn text(&mut self, text: &str) {
        if let Some(&slot) = self.texts.get(text) {
            return self.get(slot);
        }
        match u8::try_from(text.len()) {
            Ok(len) if self.protocol >= 4 => self.out.extend([0x8c, len]),
            _ => {
                self.out.push(b'X');
                self.out.extend((text.len() as u32).to_le_bytes());
            }
        }
        self.out.extend(text.as_bytes());
        self.texts.insert(text.to_owned(), self.next);
        self.put(None);
    }

    fn int(&mut self, n: i128) {
        match n {
            0..=0xff => self.out.extend([b'K', n as u8]),
            0x100..=0xffff => {
                self.out.push(b'M');
                self.out.extend((n as u16).to_le_bytes());
            }
            -0x8000_0000..=0x7fff_ffff => {
                self.out.push(b'J');
                self.out.extend((n as i32).to_le_bytes());
            }
            _ => {
                // CPython writes as few bytes as possible, C++ writes eight if they are enough.
                let len = (1..).find(|len| n >> (8 * len - 1) == 0 || n >> (8 * len - 1) == -1).unwrap();
                let len = if self.cpp { len.max(8) } else { len };
                self.out.extend([0x8a, len as u8]);
                self.out.extend(&n.to_le_bytes()[..len as usize]);
            }
        }
    }

    fn put(&mut self, name: Option<u32>) {
        let slot = self.next;
        self.next += 1;
        if let Some(name) = name {
            self.shared.insert(name, slot);
        }
        match u8::try_from(slot) {
            _ if self.protocol >= 4 => self.out.push(0x94),
            Ok(slot) => self.out.extend([b'q', slot]),
            Err(_) => {
                self.out.push(b'r');
                self.out.extend(slot.to_le_bytes());
            }
        }
    }

    fn get(&mut self, slot: u32) {
        match u8::try_from(slot) {
            Ok(slot) => self.out.extend([b'h', slot]),
            Err(_) => {
                self.out.push(b'j');
                self.out.extend(slot.to_le_bytes());
            }
        }
    }
}

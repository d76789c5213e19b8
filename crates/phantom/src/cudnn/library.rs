//! The real cuDNN, asked about a card that is not there. Since version 9.8 it chooses engines for a card of which it is only
//! told the properties: which, in which order, and what each works in. That needs neither a driver nor a GPU.
//!
//! It runs in a process of its own ([`super::asking`]), with this library in the place of the driver and of cuBLASLt.

use std::ffi::{CStr, c_int, c_void};
use std::sync::{Arc, OnceLock};

use oomph_trace::phantom::PhantomCard;

use super::number;
use crate::card::{blocks_per_processor, cache, clocks, shared_per_processor, threads_per_processor};
use crate::code::{Code, SUCCESS};
use crate::real;
use crate::store::Handle;

type Version = unsafe extern "C" fn() -> usize;
type Create = unsafe extern "C" fn(c_int, *mut Handle) -> Code;
type Change = unsafe extern "C" fn(Handle) -> Code;
type Set = unsafe extern "C" fn(Handle, c_int, c_int, i64, *const u8) -> Code;
type Get = unsafe extern "C" fn(Handle, c_int, c_int, i64, *mut i64, *mut u8) -> Code;

/// The functions of the real library.
#[derive(Debug)]
struct Functions {
    create: Create,
    destroy: Change,
    finalize: Change,
    set: Set,
    get: Get,
}

/// A descriptor of the real library. It is given back when nothing refers to it any more.
#[derive(Debug)]
pub(super) struct Twin {
    address: usize,
    /// What it refers to.
    _parts: Vec<Arc<Self>>,
}

/// What an attribute is set to.
pub(super) enum Given<'a> {
    /// Numbers of a type, as they lie in memory, and how many.
    Plain(c_int, usize, &'a [u8]),
    Twins(Vec<Arc<Twin>>),
}

impl Drop for Twin {
    fn drop(&mut self) {
        if let Some(functions) = functions() {
            // SAFETY: a descriptor of this library, which nobody else gives back.
            unsafe { (functions.destroy)(self.address as Handle) };
        }
    }
}

static FUNCTIONS: OnceLock<Functions> = OnceLock::new();

/// The functions, once the library is loaded.
fn functions() -> Option<&'static Functions> {
    FUNCTIONS.get()
}

/// Loads the library from a path; gives what `cudnnGetVersion` says, such as 91900.
pub(super) fn load(path: &CStr) -> Option<usize> {
    if !real::open(path) {
        return None;
    }
    let find = |name| real::loaded(&[path], name);
    // SAFETY: the functions of these names have these signatures in every version 9 of cuDNN.
    let (version, functions) = unsafe {
        let version = std::mem::transmute::<*mut c_void, Version>(find(c"cudnnGetVersion")?);
        let functions = Functions {
            create: std::mem::transmute::<*mut c_void, Create>(find(c"cudnnBackendCreateDescriptor")?),
            destroy: std::mem::transmute::<*mut c_void, Change>(find(c"cudnnBackendDestroyDescriptor")?),
            finalize: std::mem::transmute::<*mut c_void, Change>(find(c"cudnnBackendFinalize")?),
            set: std::mem::transmute::<*mut c_void, Set>(find(c"cudnnBackendSetAttribute")?),
            get: std::mem::transmute::<*mut c_void, Get>(find(c"cudnnBackendGetAttribute")?),
        };
        (version(), functions)
    };
    FUNCTIONS.set(functions).ok()?;
    Some(version)
}

/// The card, for descriptors that refer to it; `None` where the library does not know such cards.
pub(super) fn property(card: &PhantomCard) -> Option<Arc<Twin>> {
    let mut json = properties(card).into_bytes();
    // With C's end of a string.
    json.push(0);
    make(number::CARD, [(number::CARD_JSON, Given::Plain(number::TYPE_CHARACTER, json.len(), &json))])
        .map(Arc::new)
}

/// The card as cuDNN wants to be told of it.
fn properties(card: &PhantomCard) -> String {
    let (major, minor) = card.capability;
    let shared = shared_per_processor(card);
    let reserved = if card.capability >= (8, 0) { 1 << 10 } else { 0 };
    let (clock, memory_clock) = clocks(card);
    format!(
        r#"{{"cudaDeviceId":0,"deviceName":"{}","deviceVer":{},"driverVer":13000,"maxGridSize":[2147483647,65535,65535],"maxBlockSize":[1024,1024,64],"regsPerBlock":65536,"multiProcessorCount":{},"warpSize":32,"maxSharedMemoryPerBlock":49152,"maxSharedMemoryPerBlockOptin":{},"reservedSharedMemoryPerBlock":{reserved},"maxRegistersPerSM":65536,"maxCtasPerSM":{},"maxThreadsPerBlock":1024,"maxThreadsPerSM":{},"pciDeviceId":0,"isTccDriver":0,"supportCoopLaunch":1,"totalGlobalMem":{},"smClockRateKHz":{clock},"memClockRateKHz":{memory_clock},"l2CacheSize":{}}}"#,
        card.name.replace(['"', '\\'], " "),
        100 * u32::from(major) + 10 * u32::from(minor),
        card.multiprocessors,
        shared - reserved,
        blocks_per_processor(card),
        threads_per_processor(card),
        card.total.0,
        cache(card),
    )
}

/// A descriptor of some kind with these attributes, ready for use; `None` where the library refuses it.
pub(super) fn make<'a>(
    kind: c_int,
    attributes: impl IntoIterator<Item = (c_int, Given<'a>)>,
) -> Option<Twin> {
    let functions = functions()?;
    let mut twin = create(kind)?;
    for (attribute, given) in attributes {
        let code = match given {
            // SAFETY: a descriptor of the library, and as many elements as it is told.
            Given::Plain(kind, count, bytes) => unsafe {
                (functions.set)(twin.address as Handle, attribute, kind, count as i64, bytes.as_ptr())
            },
            Given::Twins(parts) => {
                let addresses: Vec<usize> = parts.iter().map(|part| part.address).collect();
                let count = addresses.len() as i64;
                twin._parts.extend(parts);
                // SAFETY: a descriptor of the library, and an array of others that live as long as it does.
                unsafe {
                    (functions.set)(
                        twin.address as Handle,
                        attribute,
                        number::TYPE_DESCRIPTOR,
                        count,
                        addresses.as_ptr().cast(),
                    )
                }
            }
        };
        if code != SUCCESS {
            return None;
        }
    }
    // SAFETY: a descriptor of the library.
    (unsafe { (functions.finalize)(twin.address as Handle) } == SUCCESS).then_some(twin)
}

fn create(kind: c_int) -> Option<Twin> {
    let functions = functions()?;
    let mut made: Handle = std::ptr::null_mut();
    // SAFETY: a pointer to a variable of this function.
    let code = unsafe { (functions.create)(kind, &raw mut made) };
    (code == SUCCESS).then(|| Twin { address: made as usize, _parts: Vec::new() })
}

impl Twin {
    /// The descriptors of some kind under an attribute, at most so many; none where there is no such attribute.
    pub(super) fn parts(&self, attribute: c_int, kind: c_int, most: usize) -> Vec<Self> {
        let mut count = 0;
        // SAFETY: nothing is written but the count.
        let code =
            unsafe { self.get(attribute, number::TYPE_DESCRIPTOR, 0, &raw mut count, std::ptr::null_mut()) };
        let room = if code == SUCCESS { usize::try_from(count).unwrap_or(0).min(most) } else { 0 };
        self.uncounted_parts(attribute, kind, room)
    }

    /// The same where the library does not say beforehand how many there are.
    pub(super) fn uncounted_parts(&self, attribute: c_int, kind: c_int, room: usize) -> Vec<Self> {
        let mut count = 0;
        let mut parts: Vec<Self> = (0..room).map_while(|_| create(kind)).collect();
        let mut addresses: Vec<usize> = parts.iter().map(|part| part.address).collect();
        let room = parts.len() as i64;
        // SAFETY: descriptors that were made for this, as many as the library is told.
        let code = unsafe {
            self.get(attribute, number::TYPE_DESCRIPTOR, room, &raw mut count, addresses.as_mut_ptr().cast())
        };
        let filled = if code == SUCCESS { usize::try_from(count).unwrap_or(0) } else { 0 };
        parts.truncate(filled);
        parts
    }

    /// The number under an attribute.
    pub(super) fn wide(&self, attribute: c_int) -> Option<i64> {
        let (mut count, mut number) = (0, 0_i64);
        // SAFETY: room for one number.
        let code =
            unsafe { self.get(attribute, number::TYPE_WIDE, 1, &raw mut count, (&raw mut number).cast()) };
        (code == SUCCESS && count == 1).then_some(number)
    }

    /// The enumerator of a type under an attribute that has one.
    pub(super) fn enumerator(&self, attribute: c_int, kind: c_int) -> Option<c_int> {
        self.enumerators::<1>(attribute, kind).first().copied()
    }

    /// The enumerators of a type under an attribute. Where it has room for fewer, the library refuses to tell more of them.
    pub(super) fn enumerators<const ROOM: usize>(&self, attribute: c_int, kind: c_int) -> Vec<c_int> {
        let (mut count, mut found) = (0, [0; ROOM]);
        let room = found.len() as i64;
        // SAFETY: an array of as many enumerators as the library is told.
        let code = unsafe { self.get(attribute, kind, room, &raw mut count, found.as_mut_ptr().cast()) };
        let count = if code == SUCCESS { usize::try_from(count).unwrap_or(0) } else { 0 };
        found[..count.min(found.len())].to_vec()
    }

    /// Reads an attribute as the library's own function does.
    ///
    /// # Safety
    /// `count` is the caller's; `elements` is null or has room for `wanted` elements of the type.
    unsafe fn get(
        &self,
        attribute: c_int,
        kind: c_int,
        wanted: i64,
        count: *mut i64,
        elements: *mut u8,
    ) -> Code {
        let Some(functions) = functions() else { return super::NOT_SUPPORTED };
        // SAFETY: a descriptor of the library, and the caller's promise.
        unsafe { (functions.get)(self.address as Handle, attribute, kind, wanted, count, elements) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_card_is_described_as_cudnn_reads_it() {
        let card = PhantomCard { name: "a \"card\"".to_owned(), ..PhantomCard::default() };
        let json = properties(&card);
        let number = |key: &str| {
            let rest = &json[json.find(&format!("\"{key}\":")).expect(key) + key.len() + 3..];
            rest[..rest.find([',', '}']).expect(key)].parse::<u64>().expect(key)
        };
        let keys = ["deviceVer", "multiProcessorCount", "maxSharedMemoryPerBlockOptin", "l2CacheSize"];
        assert_eq!(keys.map(number), [900, 132, 232_448, 50 << 20]);
        assert!(json.contains(r#""deviceName":"a  card ""#));
    }
}

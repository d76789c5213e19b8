//! cuDNN's graph interface (`cudnnBackend…`): descriptors are bags of attributes that refer to one another. What a
//! program builds is kept as it is built. Questions about the engines of a convolution are answered as the real library
//! answers them, those about any other graph with one engine.

use std::collections::BTreeMap;
use std::ffi::c_int;
use std::iter;
use std::sync::Arc;

use super::descriptors::{Movement, Tensor};
use super::engines::Engine;
use super::problem::{Convolution, Direction};
use super::workspaces::convolution::Offered;
use super::{BAD_PARAM, found, number, put, unknown, workspaces};
use crate::answer::{answer, offer};
use crate::code::{Code, SUCCESS};
use crate::store::{Handle, Store};

/// What one attribute holds.
#[derive(Clone, Debug)]
enum Value {
    /// Numbers, as their bytes lie in memory.
    Plain(Vec<u8>),
    /// Other descriptors, as they were when this attribute was set.
    Nodes(Vec<Arc<Node>>),
}

/// A descriptor.
#[derive(Clone, Debug, Default)]
pub(crate) struct Node {
    /// `cudnnBackendDescriptorType_t`.
    pub(crate) kind: c_int,
    attributes: BTreeMap<c_int, Value>,
}

static NODES: Store<Arc<Node>> = Store::new();

impl Node {
    /// The descriptors under an attribute.
    fn nodes(&self, attribute: c_int) -> &[Arc<Self>] {
        match self.attributes.get(&attribute) {
            Some(Value::Nodes(nodes)) => nodes,
            _ => &[],
        }
    }

    /// The first descriptor under an attribute.
    fn node(&self, attribute: c_int) -> Option<&Self> {
        self.nodes(attribute).first().map(AsRef::as_ref)
    }

    /// The numbers under an attribute, each of eight bytes.
    fn wide(&self, attribute: c_int) -> Vec<i64> {
        match self.attributes.get(&attribute) {
            Some(Value::Plain(bytes)) => {
                bytes.as_chunks().0.iter().copied().map(i64::from_ne_bytes).collect()
            }
            _ => Vec::new(),
        }
    }

    /// The enumerator under an attribute.
    fn enumerator(&self, attribute: c_int) -> Option<c_int> {
        match self.attributes.get(&attribute) {
            Some(Value::Plain(bytes)) => Some(c_int::from_ne_bytes(*bytes.first_chunk()?)),
            _ => None,
        }
    }

    fn tensor(&self) -> Option<Tensor> {
        Some(Tensor {
            data_type: self.enumerator(number::TENSOR_TYPE)?,
            dims: self.wide(number::TENSOR_DIMENSIONS),
            strides: self.wide(number::TENSOR_STRIDES),
        })
    }

    fn movement(&self) -> Movement {
        let [pads, strides, dilations] = number::MOVES.map(|attribute| self.wide(attribute));
        Movement { pads, strides, dilations }
    }

    /// The convolution, if this is the operation of one.
    fn convolution(&self) -> Option<Convolution> {
        let (direction, attributes) = match self.kind {
            number::CONVOLUTION_FORWARD => (Direction::Forward, number::FORWARD),
            number::CONVOLUTION_DATA => (Direction::Data, number::DATA),
            number::CONVOLUTION_FILTER => (Direction::Filter, number::FILTER),
            _ => return None,
        };
        let [moves, filter, input, output] = attributes.map(|attribute| self.node(attribute));
        Some(Convolution {
            direction,
            input: input?.tensor()?,
            filter: filter?.tensor()?,
            output: output?.tensor()?,
            moves: moves?.movement(),
        })
    }

    /// The convolution of a graph. The buffers inside other graphs, of an attention, are laid out by the front end that is
    /// compiled into PyTorch.
    fn convolution_of_graph(&self) -> Option<Convolution> {
        self.nodes(number::GRAPH_OPERATIONS).iter().find_map(|operation| operation.convolution())
    }

    /// The workspace of a configured engine: as it was offered, or what the operations of its graph need.
    fn workspace_of_configuration(&self) -> u64 {
        let Some(engine) = self.node(number::CONFIGURATION_ENGINE) else { return 0 };
        let graph = engine.node(number::ENGINE_GRAPH);
        let Some(convolution) = graph.and_then(Self::convolution_of_graph) else { return 0 };
        let number = |node: &Self, attribute| node.wide(attribute).first().copied();
        let bytes = |attribute| number(self, attribute).and_then(|bytes| u64::try_from(bytes).ok());
        let offered = bytes(number::CONFIGURATION_WORKSPACE).and_then(|offered| {
            Some(Offered {
                number: number(engine, number::ENGINE_INDEX)?,
                bytes: offered,
                doubt: bytes(number::CONFIGURATION_DOUBT),
            })
        });
        workspaces::convolution::workspace(&convolution, offered)
    }

    /// The engines for the graph of a question, each with its settings, the best first.
    fn configurations(&self) -> Vec<Arc<Self>> {
        let graph = self.nodes(number::HEURISTIC_GRAPH);
        let mode = self.enumerator(number::HEURISTIC_MODE).unwrap_or(0);
        let is_single = graph.iter().all(|graph| graph.nodes(number::GRAPH_OPERATIONS).len() == 1);
        let convolution = graph.first().filter(|_| is_single).and_then(|graph| graph.convolution_of_graph());
        let offers = convolution.and_then(|convolution| workspaces::convolution::offers(mode, &convolution));
        let Some(offers) = offers else {
            // Of any other graph, one engine of which nothing is known.
            return vec![Arc::new(Self::configuration(graph, 0, &[], []))];
        };
        let one = |offer: &Engine| {
            let bytes = (number::CONFIGURATION_WORKSPACE, offer.bytes);
            let doubt = offer.doubt.map(|doubt| (number::CONFIGURATION_DOUBT, doubt));
            Arc::new(Self::configuration(graph, offer.number, &offer.notes, iter::once(bytes).chain(doubt)))
        };
        offers.iter().map(one).collect()
    }

    /// An engine for a graph, with what is known of it.
    fn configuration(
        graph: &[Arc<Self>],
        engine: i64,
        notes: &[c_int],
        known: impl IntoIterator<Item = (c_int, u64)>,
    ) -> Self {
        let node = |kind, attributes| Self { kind, attributes: BTreeMap::from_iter(attributes) };
        let notes = notes.iter().flat_map(|note| note.to_ne_bytes()).collect();
        let engine = node(
            number::ENGINE,
            vec![
                (number::ENGINE_GRAPH, Value::Nodes(graph.to_vec())),
                (number::ENGINE_INDEX, Value::Plain(engine.to_ne_bytes().to_vec())),
                (number::ENGINE_NOTES, Value::Plain(notes)),
            ],
        );
        let mut attributes = vec![(number::CONFIGURATION_ENGINE, Value::Nodes(vec![Arc::new(engine)]))];
        let plain =
            |(attribute, bytes): (c_int, u64)| (attribute, Value::Plain(bytes.to_ne_bytes().to_vec()));
        attributes.extend(known.into_iter().map(plain));
        node(number::ENGINE_CONFIGURATION, attributes)
    }

    /// The value of an attribute: as it was set, or as the library would derive it.
    fn answer(&self, attribute: c_int) -> Option<Value> {
        if let Some(set) = self.attributes.get(&attribute) {
            return Some(set.clone());
        }
        let wide = |number: u64| Value::Plain(number.to_ne_bytes().to_vec());
        Some(match attribute {
            number::HEURISTIC_RESULTS => Value::Nodes(self.configurations()),
            number::PLAN_WORKSPACE => {
                wide(self.node(number::PLAN_CONFIGURATION).map_or(0, Self::workspace_of_configuration))
            }
            number::CONFIGURATION_WORKSPACE => wide(self.workspace_of_configuration()),
            number::GRAPH_ENGINES => wide(1),
            number::ENGINE_INDEX => wide(0),
            // Choices and notes of an engine: it has none.
            301 | 302 | 403 | 404 | 1302..=1306 => Value::Nodes(Vec::new()),
            // Shared memory: it needs none.
            304 => Value::Plain(vec![0; 4]),
            // The plan in JSON: an empty one, with C's end of a string.
            405 => Value::Plain(b"{}\0".to_vec()),
            _ => return None,
        })
    }
}

/// Bytes of an element by `cudnnBackendAttributeType_t`.
fn width(kind: c_int) -> usize {
    match kind {
        // Boolean, character.
        2 | 24 => 1,
        // Handle, 64-bit integer, double, pointer, descriptor.
        0 | 3 | 5 | 6 | number::TYPE_DESCRIPTOR => 8,
        // A fraction is two integers.
        26 => 16,
        // Enumerators, float, 32-bit integer.
        _ => 4,
    }
}

answer! {
    /// A descriptor of some kind.
    fn cudnnBackendCreateDescriptor(kind: c_int, at: *mut Handle) {
        *at = NODES.create(Arc::new(Node { kind, ..Node::default() }));
    }
}

/// Forgets it; descriptors that refer to it keep a copy.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnBackendDestroyDescriptor(handle: Handle) -> Code {
    NODES.destroy(handle);
    SUCCESS
}

/// Nothing is checked before a descriptor is used.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn cudnnBackendFinalize(handle: Handle) -> Code {
    found(NODES.get(handle).is_some())
}

/// Sets one attribute of a descriptor.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnBackendSetAttribute(
    handle: Handle,
    attribute: c_int,
    kind: c_int,
    count: i64,
    elements: *const u8,
) -> Code {
    let count = usize::try_from(count).unwrap_or(0);
    if elements.is_null() && count > 0 {
        return BAD_PARAM;
    }
    let mut bytes = vec![0; count * width(kind)];
    if count > 0 {
        // SAFETY: the caller's array of `count` elements of the type it names.
        unsafe { elements.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
    }
    let value = if kind == number::TYPE_DESCRIPTOR {
        let handles = bytes.as_chunks().0.iter().copied().map(usize::from_ne_bytes);
        Value::Nodes(handles.filter_map(|handle| NODES.get(handle as Handle)).collect())
    } else {
        Value::Plain(bytes)
    };
    found(NODES.change(handle, |node| {
        Arc::make_mut(node).attributes.insert(attribute, value);
    }))
}

/// Reads one attribute of a descriptor. If it holds descriptors, they are copied into those that the caller made.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnBackendGetAttribute(
    handle: Handle,
    attribute: c_int,
    kind: c_int,
    wanted: i64,
    count: *mut i64,
    elements: *mut u8,
) -> Code {
    let Some(node) = NODES.get(handle) else { return BAD_PARAM };
    let Some(value) = node.answer(attribute) else {
        return unknown(&format!("attribute {attribute} of cuDNN's descriptor {}", node.kind));
    };
    let room = if elements.is_null() { 0 } else { usize::try_from(wanted).unwrap_or(0) };
    let total = match &value {
        Value::Plain(bytes) => {
            let taken = bytes.len().min(room * width(kind));
            if taken > 0 {
                // SAFETY: the caller's array has room for `wanted` elements of the type it names.
                unsafe { elements.copy_from_nonoverlapping(bytes.as_ptr(), taken) };
            }
            bytes.len() / width(kind)
        }
        Value::Nodes(nodes) => {
            for (at, node) in nodes.iter().take(room).enumerate() {
                // SAFETY: the caller's array of `wanted` descriptors that it made before.
                let made = unsafe { elements.cast::<Handle>().add(at).read_unaligned() };
                NODES.change(made, |held| *held = Arc::clone(node));
            }
            nodes.len()
        }
    };
    // SAFETY: the caller's pointer, which may be null.
    unsafe { offer(count, i64::try_from(total).unwrap_or(0)) };
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    fn make(kind: c_int) -> Handle {
        let mut handle = std::ptr::null_mut();
        // SAFETY: a pointer to a variable of this function.
        assert_eq!(unsafe { cudnnBackendCreateDescriptor(kind, &raw mut handle) }, SUCCESS);
        handle
    }

    fn tell<T>(handle: Handle, attribute: c_int, kind: c_int, values: &[T]) {
        // SAFETY: a slice with its length; `T` is as wide as `kind` says.
        let code = unsafe {
            cudnnBackendSetAttribute(handle, attribute, kind, values.len() as i64, values.as_ptr().cast())
        };
        assert_eq!(code, SUCCESS);
    }

    fn tensor(dims: &[i64]) -> Handle {
        let handle = make(17);
        tell(handle, number::TENSOR_TYPE, 1, &[2_i32]);
        tell(handle, number::TENSOR_DIMENSIONS, 3, dims);
        handle
    }

    #[test]
    fn an_operation_keeps_the_shapes_of_descriptors_that_are_gone() {
        let moves = make(1);
        tell(moves, number::MOVES[1], 3, &[2_i64, 2]);
        let (input, filter, output) = (tensor(&[8, 3, 9, 9]), tensor(&[4, 3, 1, 1]), tensor(&[8, 4, 5, 5]));
        let operation = make(number::CONVOLUTION_FORWARD);
        for (attribute, part) in number::FORWARD.into_iter().zip([moves, filter, input, output]) {
            tell(operation, attribute, number::TYPE_DESCRIPTOR, &[part]);
            cudnnBackendDestroyDescriptor(part);
        }
        let convolution =
            NODES.get(operation).and_then(|node| node.convolution()).expect("it is a convolution");
        assert_eq!(convolution.input.dims, [8, 3, 9, 9]);
        assert_eq!(convolution.moves.strides, [2, 2]);
        assert_eq!((convolution.filter.data_type, convolution.output.dims), (2, vec![8, 4, 5, 5]));
    }

    #[test]
    fn heuristics_find_one_engine_and_its_plan_has_a_workspace() {
        let heuristics = make(4);
        tell(heuristics, number::HEURISTIC_GRAPH, number::TYPE_DESCRIPTOR, &[make(15)]);
        let configuration = make(number::ENGINE_CONFIGURATION);
        let (mut count, mut size) = (0, [7_i64]);
        let mut made = [configuration];
        let plan = make(5);
        // SAFETY: arrays and variables of this function, with their lengths.
        unsafe {
            let none = std::ptr::null_mut();
            assert_eq!(cudnnBackendGetAttribute(heuristics, 202, 15, 0, &raw mut count, none), SUCCESS);
            assert_eq!(count, 1);
            let into = made.as_mut_ptr().cast();
            assert_eq!(cudnnBackendGetAttribute(heuristics, 202, 15, 1, &raw mut count, into), SUCCESS);
            tell(plan, number::PLAN_CONFIGURATION, number::TYPE_DESCRIPTOR, &[configuration]);
            let into = size.as_mut_ptr().cast();
            assert_eq!(
                cudnnBackendGetAttribute(plan, number::PLAN_WORKSPACE, 3, 1, none.cast(), into),
                SUCCESS
            );
            assert_eq!(
                cudnnBackendGetAttribute(plan, 9999, 3, 1, none.cast(), into),
                super::super::NOT_SUPPORTED
            );
        }
        assert_eq!(size, [0]);
        assert!(
            NODES.get(configuration).is_some_and(|node| node.node(number::CONFIGURATION_ENGINE).is_some())
        );
    }
}

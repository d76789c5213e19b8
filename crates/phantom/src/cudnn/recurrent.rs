//! Recurrent networks: how their weights are laid out, and the functions that tell their sizes.

use std::ffi::{c_float, c_int, c_ulonglong, c_void};

use super::descriptors::{TENSORS, Tensor};
use super::workspaces::recurrent::{Cell, Method, Network, Sequences};
use super::{BAD_PARAM, bytes_of, found, put, size};
use crate::answer::{answer, offer};
use crate::code::{Code, SUCCESS};
use crate::store::{Handle, Store, lifetime, remember};

static NETWORKS: Store<Network> = Store::new();
static SEQUENCES: Store<Sequences> = Store::new();
/// The share that is dropped.
static DROPOUTS: Store<f32> = Store::new();

fn natural(number: c_int) -> u64 {
    u64::from(number.unsigned_abs())
}

/// By `cudnnRNNMode_t`.
fn cell(number: c_int) -> Cell {
    match number {
        2 => Cell::Lstm,
        3 => Cell::Gru,
        _ => Cell::Plain,
    }
}

/// By `cudnnRNNAlgo_t`.
fn method(number: c_int) -> Method {
    match number {
        1 | 2 => Method::Persistent,
        3 => Method::PersistentSmall,
        _ => Method::Standard,
    }
}

/// Vectors for each gate by `cudnnRNNBiasMode_t`: none, with the input, both, with the state.
fn biases(number: c_int) -> u64 {
    match number {
        0 => 0,
        2 => 2,
        _ => 1,
    }
}

/// The layout of a network's weights. A pseudo-layer is a layer in one direction.
impl Network {
    /// Rows and columns of one matrix of a pseudo-layer. Matrices count in this order: input, state, projection.
    fn matrix(&self, pseudo: u64, matrix: u64) -> (u64, u64) {
        let gates = self.cell.gates();
        if matrix >= 2 * gates {
            return (self.projected, self.hidden);
        }
        let columns = if matrix >= gates {
            self.output()
        } else if pseudo < self.directions() {
            self.input
        } else {
            self.output() * self.directions()
        };
        (self.hidden, columns)
    }

    fn matrices_of_layer(&self) -> u64 {
        2 * self.cell.gates() + u64::from(self.is_projected())
    }

    fn biases_of_layer(&self) -> u64 {
        self.biases * self.cell.gates()
    }

    fn pseudo_layers(&self) -> u64 {
        self.layers * self.directions()
    }

    /// The elements before one matrix. All matrices come before the biases, layer after layer.
    fn before(&self, pseudo: u64, matrix: u64) -> u64 {
        let elements = |pseudo, matrix| {
            let (rows, columns) = self.matrix(pseudo, matrix);
            rows * columns
        };
        let layers: u64 = (0..pseudo)
            .map(|layer| (0..self.matrices_of_layer()).map(|at| elements(layer, at)).sum::<u64>())
            .sum();
        layers + (0..matrix).map(|at| elements(pseudo, at)).sum::<u64>()
    }

    /// Elements of all weights.
    fn elements(&self) -> u64 {
        self.before(self.pseudo_layers(), 0) + self.pseudo_layers() * self.biases_of_layer() * self.hidden
    }
}

lifetime! {
    cudnnCreateRNNDescriptor, cudnnDestroyRNNDescriptor, NETWORKS;
    cudnnCreateRNNDataDescriptor, cudnnDestroyRNNDataDescriptor, SEQUENCES;
    cudnnCreateDropoutDescriptor, cudnnDestroyDropoutDescriptor, DROPOUTS;
}

remember! {
    /// A network.
    fn cudnnSetRNNDescriptor_v8(
        network: Handle, algorithm: c_int, mode: c_int, bias: c_int, direction: c_int, _: c_int, data_type: c_int, _: c_int,
        _: c_int, input: i32, hidden: i32, projected: i32, layers: i32, dropout: Handle, _: u32,
    ) {
        *NETWORKS[network] = Network {
            cell: cell(mode),
            method: method(algorithm),
            biases: biases(bias),
            bidirectional: direction == 1,
            data_type,
            input: natural(input),
            hidden: natural(hidden),
            projected: natural(projected),
            layers: natural(layers),
            drops: DROPOUTS.get(dropout).is_some_and(|share| share > 0.0),
        };
    }

    /// How much is dropped, with a new generator.
    fn cudnnSetDropoutDescriptor(
        dropout: Handle, _: Handle, share: c_float, _: *mut c_void, _: usize, _: c_ulonglong,
    ) { *DROPOUTS[dropout] = share; }

    /// The same with one that is there.
    fn cudnnRestoreDropoutDescriptor(
        dropout: Handle, _: Handle, share: c_float, _: *mut c_void, _: usize, _: c_ulonglong,
    ) { *DROPOUTS[dropout] = share; }
}

/// Sequences.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnSetRNNDataDescriptor(
    sequences: Handle,
    _: c_int,
    layout: c_int,
    longest: c_int,
    batch: c_int,
    _: c_int,
    lengths: *const c_int,
    _: *mut c_void,
) -> Code {
    /// `CUDNN_RNN_DATA_LAYOUT_SEQ_MAJOR_PACKED`.
    const PACKED: c_int = 1;
    let (longest, batch) = (natural(longest), natural(batch));
    let packed = (layout == PACKED && !lengths.is_null()).then(|| {
        // SAFETY: the caller's array, of one length for each sequence.
        (0..size(batch)).map(|at| natural(unsafe { lengths.add(at).read_unaligned() })).sum()
    });
    found(SEQUENCES.change(sequences, |it| *it = Sequences { longest, batch, packed }))
}

answer! {
    /// All weights of a network.
    fn cudnnGetRNNWeightSpaceSize(_: Handle, network: Handle, at: *mut usize) {
        *at = match NETWORKS.get(network) {
            Some(network) => size(network.elements() * bytes_of(network.data_type)),
            None => return BAD_PARAM,
        };
    }
}

/// The workspace of a run, and what it keeps.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnGetRNNTempSpaceSizes(
    _: Handle,
    network: Handle,
    mode: c_int,
    sequences: Handle,
    workspace: *mut usize,
    reserve: *mut usize,
) -> Code {
    let (Some(network), Some(over)) = (NETWORKS.get(network), SEQUENCES.get(sequences)) else {
        return BAD_PARAM;
    };
    let spaces = network.spaces(&over);
    let (works_in, keeps) = if mode == 1 { (spaces.training, spaces.kept) } else { (spaces.inference, 0) };
    // SAFETY: the caller's pointers, each of which may be null.
    unsafe {
        offer(workspace, size(works_in));
        offer(reserve, size(keeps));
    }
    SUCCESS
}

/// Where one matrix and one bias of a network lie.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn cudnnGetRNNWeightParams(
    _: Handle,
    network: Handle,
    pseudo: i32,
    _: usize,
    weights: *const u8,
    matrix: i32,
    matrix_shape: Handle,
    matrix_at: *mut *const u8,
    bias_shape: Handle,
    bias_at: *mut *const u8,
) -> Code {
    let Some(network) = NETWORKS.get(network) else { return BAD_PARAM };
    let (Ok(pseudo), Ok(matrix)) = (u64::try_from(pseudo), u64::try_from(matrix)) else { return BAD_PARAM };
    if pseudo >= network.pseudo_layers() {
        return BAD_PARAM;
    }
    let width = bytes_of(network.data_type);
    let shape = |rows: u64, columns: u64| {
        let (rows, columns) = (rows.cast_signed(), columns.cast_signed());
        Tensor {
            data_type: network.data_type,
            dims: vec![1, rows, columns],
            strides: vec![rows * columns, columns, 1],
        }
    };
    let place = |elements: u64| weights.wrapping_add(size(elements * width));
    let has_matrix = matrix < network.matrices_of_layer();
    let has_bias = matrix < network.biases_of_layer();
    let (rows, columns) = network.matrix(pseudo, matrix);
    let bias = network.before(network.pseudo_layers(), 0)
        + (pseudo * network.biases_of_layer() + matrix) * network.hidden;
    TENSORS
        .change(matrix_shape, |it| *it = if has_matrix { shape(rows, columns) } else { Tensor::default() });
    TENSORS
        .change(bias_shape, |it| *it = if has_bias { shape(network.hidden, 1) } else { Tensor::default() });
    // SAFETY: the caller's pointers, each of which may be null.
    unsafe {
        offer(matrix_at, if has_matrix { place(network.before(pseudo, matrix)) } else { std::ptr::null() });
        offer(bias_at, if has_bias { place(bias) } else { std::ptr::null() });
    }
    SUCCESS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_weights_of_an_lstm_lie_matrices_first() {
        let network = Network {
            cell: Cell::Lstm,
            method: Method::Standard,
            biases: 2,
            bidirectional: true,
            data_type: 0,
            input: 10,
            hidden: 20,
            projected: 20,
            layers: 2,
            drops: false,
        };
        let first = 2 * (4 * 20 * 10 + 4 * 20 * 20);
        let second = 2 * (4 * 20 * 40 + 4 * 20 * 20);
        assert_eq!(network.before(2, 0), first);
        assert_eq!(network.before(4, 0), first + second);
        assert_eq!(network.elements(), first + second + 4 * 8 * 20);
        assert_eq!(network.matrix(2, 0), (20, 40));
        assert_eq!(network.matrix(3, 5), (20, 20));
    }
}

//! Recurrent networks: how their weights are laid out, their workspaces, and what they keep.

use std::ffi::{c_int, c_void};

use super::descriptors::{TENSORS, Tensor};
use super::{BAD_PARAM, bytes_of, found, put, size};
use crate::answer::{answer, offer};
use crate::code::{Code, SUCCESS};
use crate::store::{Handle, Store, lifetime, remember};

/// A recurrent network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Network {
    /// `cudnnRNNMode_t`: 0 and 1 plain, 2 LSTM, 3 GRU.
    cell: c_int,
    /// `cudnnRNNBiasMode_t`: 0 none, 1 with the input, 2 both, 3 with the state.
    bias: c_int,
    bidirectional: bool,
    data_type: c_int,
    input: u64,
    hidden: u64,
    /// If it is smaller than the hidden size, the output is projected to it.
    projected: u64,
    layers: u64,
}

/// The sequences a network reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Sequences {
    longest: u64,
    batch: u64,
}

static NETWORKS: Store<Network> = Store::new();
static SEQUENCES: Store<Sequences> = Store::new();

fn natural(number: c_int) -> u64 {
    u64::from(number.unsigned_abs())
}

impl Network {
    fn gates(&self) -> u64 {
        match self.cell {
            2 => 4,
            3 => 3,
            _ => 1,
        }
    }

    fn directions(&self) -> u64 {
        if self.bidirectional { 2 } else { 1 }
    }

    fn is_projected(&self) -> bool {
        self.cell == 2 && self.projected < self.hidden
    }

    /// What one layer hands to the next, of one direction.
    fn output(&self) -> u64 {
        if self.is_projected() { self.projected } else { self.hidden }
    }

    /// Rows and columns of one matrix of a pseudo-layer. Matrices count in this order: input, state, projection.
    fn matrix(&self, pseudo: u64, matrix: u64) -> (u64, u64) {
        let gates = self.gates();
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

    fn matrices(&self) -> u64 {
        2 * self.gates() + u64::from(self.is_projected())
    }

    fn biases(&self) -> u64 {
        match self.bias {
            0 => 0,
            2 => 2 * self.gates(),
            _ => self.gates(),
        }
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
        let layers: u64 =
            (0..pseudo).map(|layer| (0..self.matrices()).map(|at| elements(layer, at)).sum::<u64>()).sum();
        layers + (0..matrix).map(|at| elements(pseudo, at)).sum::<u64>()
    }

    /// Elements of all weights.
    fn elements(&self) -> u64 {
        self.before(self.pseudo_layers(), 0) + self.pseudo_layers() * self.biases() * self.hidden
    }

    /// The workspace of a run over these sequences, and what training keeps of it. What is kept agrees to the byte
    /// with measurements on an H200: a fixed number of states for each step. The workspace is a fit of the same
    /// measurements, wrong by up to two fifths.
    fn spaces(&self, over: &Sequences, training: bool) -> (u64, u64) {
        let width = bytes_of(self.data_type);
        let step = over.longest * over.batch * width;
        let states = step * self.pseudo_layers() * self.hidden;
        let kept = match self.cell {
            2 => 6,
            3 => 7,
            _ => 2,
        };
        let widest = self.input.max(if self.layers > 1 { self.output() * self.directions() } else { 0 });
        let least = self.pseudo_layers() * (8 << 20);
        let grows = least + least / 3 + 8 * step * widest + 9 * step * self.hidden * self.directions();
        let workspace = (grows + self.elements() * width / 2).saturating_sub(5 * states).max(least);
        (workspace, if training { kept * states } else { 0 })
    }
}

lifetime! {
    cudnnCreateRNNDescriptor, cudnnDestroyRNNDescriptor, NETWORKS;
    cudnnCreateRNNDataDescriptor, cudnnDestroyRNNDataDescriptor, SEQUENCES;
}

remember! {
    /// A network.
    fn cudnnSetRNNDescriptor_v8(
        network: Handle, _: c_int, cell: c_int, bias: c_int, direction: c_int, _: c_int, data_type: c_int, _: c_int,
        _: c_int, input: i32, hidden: i32, projected: i32, layers: i32, _: Handle, _: u32,
    ) {
        *NETWORKS[network] = Network {
            cell,
            bias,
            bidirectional: direction == 1,
            data_type,
            input: natural(input),
            hidden: natural(hidden),
            projected: natural(projected),
            layers: natural(layers),
        };
    }

    /// Sequences.
    fn cudnnSetRNNDataDescriptor(
        sequences: Handle, _: c_int, _: c_int, longest: c_int, batch: c_int, _: c_int, _: *const c_int, _: *mut c_void,
    ) { *SEQUENCES[sequences] = Sequences { longest: natural(longest), batch: natural(batch) }; }
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
    let (works_in, keeps) = network.spaces(&over, mode == 1);
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
    let has_matrix = matrix < network.matrices();
    let has_bias = matrix < network.biases();
    let (rows, columns) = network.matrix(pseudo, matrix);
    let bias =
        network.before(network.pseudo_layers(), 0) + (pseudo * network.biases() + matrix) * network.hidden;
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
            cell: 2,
            bias: 2,
            bidirectional: true,
            data_type: 0,
            input: 10,
            hidden: 20,
            projected: 20,
            layers: 2,
        };
        let first = 2 * (4 * 20 * 10 + 4 * 20 * 20);
        let second = 2 * (4 * 20 * 40 + 4 * 20 * 20);
        assert_eq!(network.before(2, 0), first);
        assert_eq!(network.before(4, 0), first + second);
        assert_eq!(network.elements(), first + second + 4 * 8 * 20);
        assert_eq!(network.matrix(2, 0), (20, 40));
        assert_eq!(network.matrix(3, 5), (20, 20));
        let over = Sequences { longest: 7, batch: 3 };
        assert_eq!(network.spaces(&over, true).1, 6 * 7 * 3 * 4 * 20 * 4);
        assert_eq!(network.spaces(&over, false).1, 0);
    }
}

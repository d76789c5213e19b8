//! What recurrent networks work in, and what training keeps of them. These are sums of buffers; they agree to the byte with
//! all of 165,973 networks that cuDNN 9.19 was asked about on an H200 (`gpu/measure_rnn.py`).

use crate::cudnn::bytes_of;

/// The kind of a network's cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Cell {
    #[default]
    Plain,
    Lstm,
    Gru,
}

impl Cell {
    /// Matrices of a cell for its input, and as many for its state.
    pub(crate) fn gates(self) -> u64 {
        match self {
            Self::Plain => 1,
            Self::Lstm => 4,
            Self::Gru => 3,
        }
    }

    /// Values of each unit and step that the backward pass needs.
    fn kept(self) -> u64 {
        match self {
            Self::Plain => 1,
            Self::Lstm => 4,
            Self::Gru => 6,
        }
    }
}

/// How a network is computed, `cudnnRNNAlgo_t`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Method {
    /// Step by step.
    #[default]
    Standard,
    /// By kernels that stay on the card for the whole sequence.
    Persistent,
    /// The same for few hidden units.
    PersistentSmall,
}

/// A recurrent network.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Network {
    pub(crate) cell: Cell,
    pub(crate) method: Method,
    /// Vectors of biases for each gate.
    pub(crate) biases: u64,
    pub(crate) bidirectional: bool,
    pub(crate) data_type: i32,
    pub(crate) input: u64,
    pub(crate) hidden: u64,
    /// If it is smaller than the hidden size, the output is projected to it.
    pub(crate) projected: u64,
    pub(crate) layers: u64,
    /// Whether what goes from layer to layer is dropped out.
    pub(crate) drops: bool,
}

/// The sequences a network reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Sequences {
    pub(crate) longest: u64,
    pub(crate) batch: u64,
    /// The sum of all lengths, where only the steps that are there are stored.
    pub(crate) packed: Option<u64>,
}

/// What each run needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Spaces {
    pub(crate) inference: u64,
    pub(crate) training: u64,
    /// What training keeps for the backward pass.
    pub(crate) kept: u64,
}

/// What each layer and direction has for matrix products.
const PRODUCTS: u64 = 8 << 20;
/// Every space begins so much later than it is given.
const SLACK: u64 = 256;
/// Steps whose inputs are multiplied at once, in one direction.
const CHUNK: u64 = 256;

/// The size of a buffer.
fn whole(bytes: u64) -> u64 {
    bytes.next_multiple_of(32)
}

impl Network {
    pub(crate) fn directions(&self) -> u64 {
        if self.bidirectional { 2 } else { 1 }
    }

    pub(crate) fn is_projected(&self) -> bool {
        self.cell == Cell::Lstm && self.projected < self.hidden
    }

    /// What one layer hands to the next, of one direction.
    pub(crate) fn output(&self) -> u64 {
        if self.is_projected() { self.projected } else { self.hidden }
    }

    /// Elements of all matrices.
    fn matrices(&self) -> u64 {
        let (directions, output) = (self.directions(), self.output());
        let rows = directions * self.cell.gates() * self.hidden;
        let first = rows * (self.input + output);
        let others = (self.layers.max(1) - 1) * rows * (directions + 1) * output;
        let projections =
            if self.is_projected() { directions * self.layers * self.hidden * output } else { 0 };
        first + others + projections
    }

    /// The spaces for these sequences.
    pub(crate) fn spaces(&self, over: &Sequences) -> Spaces {
        let common = self.common(over);
        let forward = common + self.forward(over);
        Spaces {
            inference: forward,
            training: forward.max(common + self.backward(over)),
            kept: self.kept(over),
        }
    }

    fn buffer(&self, elements: u64) -> u64 {
        whole(elements * bytes_of(self.data_type))
    }

    fn is_persistent(&self) -> bool {
        /// `CUDNN_DATA_BFLOAT16`, which has no such kernels.
        const BFLOAT16: i32 = 9;
        self.method != Method::Standard && self.data_type != BFLOAT16
    }

    /// States of the first kind and of the second, which are those of all layers, before and after, or their gradients.
    fn states(&self, over: &Sequences) -> u64 {
        let each = self.directions() * self.layers * over.batch;
        let cells = if self.cell == Cell::Lstm { self.buffer(each * self.hidden) } else { 0 };
        2 * (self.buffer(each * self.output()) + cells)
    }

    /// Sequences that are not packed are packed first: what is read and what is written.
    fn repacked(&self, over: &Sequences) -> u64 {
        let steps = over.steps();
        match over.packed {
            Some(_) => 0,
            None => {
                self.buffer(steps * self.input)
                    + self.buffer(self.directions() * steps * self.output())
                    + self.states(over)
            }
        }
    }

    /// What both passes have.
    fn common(&self, over: &Sequences) -> u64 {
        let (directions, per_step) = (self.directions(), self.layers * over.batch * self.hidden);
        let mut sum = SLACK + PRODUCTS * directions * self.layers + self.buffer(self.matrices());
        if self.bidirectional {
            sum += self.buffer(4 * per_step);
        }
        if self.cell == Cell::Lstm {
            sum += self.buffer(2 * directions * per_step);
        }
        if over.packed.is_none() {
            // Two numbers for each sequence.
            sum += whole(8 * over.batch);
        }
        sum + self.repacked(over)
    }

    fn forward(&self, over: &Sequences) -> u64 {
        let (directions, gates, hidden, steps) =
            (self.directions(), self.cell.gates(), self.hidden, over.steps());
        let per_step = self.layers * over.batch * hidden;
        let mut sum = 0;
        if self.bidirectional {
            // What goes in and out of a layer.
            sum += self.buffer(4 * steps * hidden);
        } else if self.drops {
            sum += self.buffer(steps * hidden);
        }
        if self.is_projected() {
            sum += self.buffer(directions * steps * hidden);
        }
        if self.is_persistent() {
            sum += self.buffer(directions * gates * steps * hidden);
            sum += self.buffer(4 * gates * steps * hidden) + self.buffer(2 * per_step);
        } else {
            let at_once = if self.bidirectional { 2 * steps } else { steps.min(CHUNK * over.batch) };
            sum += self.buffer(gates * at_once * hidden) + self.buffer(gates * directions * per_step);
        }
        sum
    }

    fn backward(&self, over: &Sequences) -> u64 {
        let (directions, hidden, steps) = (self.directions(), self.hidden, over.steps());
        let per_step = self.layers * over.batch * hidden;
        let mut sum = self.repacked(over);
        sum += self.buffer(directions * directions * steps * self.input.max(hidden));
        if self.is_projected() {
            sum += self.buffer(directions * steps * hidden);
        }
        sum += self.buffer(if self.layers <= 1 {
            directions * steps * hidden
        } else if self.is_persistent() || self.bidirectional {
            2 * directions * steps * hidden
        } else {
            steps.min(self.steps_under_way(over) * over.batch) * hidden
        });
        if self.is_persistent() {
            let width = bytes_of(self.data_type);
            let least = match self.method {
                Method::Persistent => (4864 + 2 * over.batch) * hidden,
                Method::Standard | Method::PersistentSmall => 0,
            };
            sum += whole((8 * steps * hidden * width).max(least));
            sum + self.buffer(self.cell.kept() * steps * hidden) + self.buffer(2 * per_step)
        } else {
            sum + self.buffer(directions * per_step)
        }
    }

    /// Layers above each other are computed at the same time, each some steps behind the one above it: how many steps there
    /// are between the first and the last.
    fn steps_under_way(&self, over: &Sequences) -> u64 {
        let by_batch = match over.batch {
            ..=1 => 32,
            2..=8 => 16,
            9..=16 => 8,
            17..=96 => 4,
            _ => 2,
        };
        let apart = if over.longest >= 128 { 8.max(by_batch) } else { by_batch };
        apart * self.layers + apart.max(8)
    }

    fn kept(&self, over: &Sequences) -> u64 {
        let (directions, hidden, steps) = (self.directions(), self.hidden, over.steps());
        let layers = directions * self.layers;
        let between = self.layers.max(1) - 1;
        let mut sum = SLACK + self.buffer(self.cell.kept() * steps * hidden * layers);
        if self.cell == Cell::Lstm {
            sum += self.buffer(steps * hidden * layers);
        }
        sum += self.buffer(between * directions * steps * hidden);
        if self.is_projected() {
            sum += self.buffer(steps * hidden * layers) + self.buffer(steps * self.output() * layers);
        }
        if self.drops {
            // A bit for each element, of all steps that there may be.
            let bits = directions * over.longest * over.batch * self.output();
            sum += between * directions * whole(bits.div_ceil(8));
        }
        sum
    }
}

impl Sequences {
    /// Steps that are stored.
    fn steps(&self) -> u64 {
        self.packed.unwrap_or(self.longest * self.batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_are_those_that_cudnn_tells() {
        let mut count = 0;
        for line in include_str!("recurrent.csv").lines().skip(2) {
            let row: Vec<u64> = line.split(',').map(|word| word.parse().expect(line)).collect();
            let &[
                method,
                cell,
                bias,
                both,
                _,
                data_type,
                input,
                hidden,
                projected,
                layers,
                drops,
                _,
                layout,
                longest,
                batch,
                total,
                _,
                inference,
                training,
                kept,
            ] = row.as_slice()
            else {
                panic!("{line}")
            };
            let network = Network {
                cell: [Cell::Plain, Cell::Plain, Cell::Lstm, Cell::Gru][cell as usize],
                method: [Method::Standard, Method::Persistent, Method::Standard, Method::PersistentSmall]
                    [method as usize],
                biases: bias,
                bidirectional: both == 1,
                data_type: i32::try_from(data_type).expect(line),
                input,
                hidden,
                projected,
                layers,
                drops: drops == 1,
            };
            let over = Sequences { longest, batch, packed: (layout == 1).then_some(total) };
            assert_eq!(network.spaces(&over), Spaces { inference, training, kept }, "{line}");
            count += 1;
        }
        assert!(count > 100);
    }
}

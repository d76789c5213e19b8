//! A convolution, from either interface.

use std::ffi::c_int;
use std::fmt;

use super::descriptors::{Movement, Tensor};

/// Which of the three products of a convolution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Direction {
    /// The output, from input and filter.
    Forward,
    /// The gradient of the input.
    Data,
    /// The gradient of the filter.
    Filter,
}

impl Direction {
    /// In the order in which the table has them, and questions count them.
    pub(crate) const ALL: [Self; 3] = [Self::Forward, Self::Data, Self::Filter];
}

/// All that is known of a convolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Convolution {
    pub(crate) direction: Direction,
    /// The input, or its gradient.
    pub(crate) input: Tensor,
    /// The filter, or its gradient.
    pub(crate) filter: Tensor,
    /// The output, or its gradient.
    pub(crate) output: Tensor,
    pub(crate) moves: Movement,
}

impl Tensor {
    /// One dimension; 1 where it has none.
    pub(crate) fn dim(&self, at: usize) -> u64 {
        self.dims.get(at).map_or(1, |dim| u64::try_from(*dim).unwrap_or(0))
    }

    /// Whether the channels of a pixel lie side by side.
    pub(crate) fn is_channels_last(&self) -> bool {
        self.strides.get(1) == Some(&1) && self.dim(1) > 1 && self.strides.last() != Some(&1)
    }
}

impl Convolution {
    /// The number of groups: a filter sees only the channels of its own group.
    pub(crate) fn groups(&self) -> u64 {
        (self.input.dim(1) / self.filter.dim(1).max(1)).max(1)
    }
}

/// Writes a list as `224x224`.
fn product(values: &[i64]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join("x")
}

/// The name of a `cudnnDataType_t`, of those that convolutions use.
fn type_name(data_type: c_int) -> &'static str {
    match data_type {
        0 => "fp32",
        1 => "fp64",
        2 => "fp16",
        9 => "bf16",
        _ => "other",
    }
}

impl fmt::Display for Convolution {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let direction = match self.direction {
            Direction::Forward => "forward",
            Direction::Data => "data",
            Direction::Filter => "filter",
        };
        let layout = if self.input.is_channels_last() { "nhwc" } else { "nchw" };
        write!(
            f,
            "{direction} {} {layout} x={} w={} y={} pad={} stride={} dilation={} groups={}",
            type_name(self.input.data_type),
            product(&self.input.dims),
            product(&self.filter.dims),
            product(&self.output.dims),
            product(&self.moves.pads),
            product(&self.moves.strides),
            product(&self.moves.dilations),
            self.groups(),
        )
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A tensor without gaps, the last dimension side by side.
    pub(crate) fn dense(data_type: c_int, dims: &[i64]) -> Tensor {
        let mut strides = vec![1; dims.len()];
        for at in (1..dims.len()).rev() {
            strides[at - 1] = strides[at] * dims[at];
        }
        Tensor { data_type, dims: dims.to_vec(), strides }
    }

    #[test]
    fn a_convolution_is_written_on_one_line() {
        let convolution = Convolution {
            direction: Direction::Filter,
            input: dense(9, &[32, 64, 56, 56]),
            filter: dense(9, &[128, 2, 3, 3]),
            output: dense(9, &[32, 128, 28, 28]),
            moves: Movement { pads: vec![1, 1], strides: vec![2, 2], dilations: vec![1, 1] },
        };
        assert_eq!(
            convolution.to_string(),
            "filter bf16 nchw x=32x64x56x56 w=128x2x3x3 y=32x128x28x28 pad=1x1 stride=2x2 dilation=1x1 groups=32"
        );
        let last = Tensor { data_type: 0, dims: vec![2, 3, 4, 5], strides: vec![60, 1, 15, 3] };
        assert!(last.is_channels_last());
    }
}

//! What the workspace of an engine is made of.

use super::measured::Shape;
use crate::cudnn::bytes_of;

/// The operands of a convolution of some shape and batch, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Operands {
    /// Each operand as it is, with its channels padded to fours, and with its channels padded to whole 16 bytes.
    input: [u64; 3],
    /// The filter may be padded in its input channels only, or also in its output channels.
    filter: [u64; 5],
    output: [u64; 3],
    /// Partial sums: one filter of 32-bit numbers for each element of the batch.
    partial: u64,
}

/// Which copies of its operands an engine makes, and what it needs besides. Each number says which of [`Operands`] is
/// copied, if any.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parts {
    /// A filter for each element of the batch.
    PartialSums { besides: u64 },
    /// Copies in another layout.
    Copies { input: Option<usize>, filter: Option<usize>, output: Option<usize>, besides: u64 },
}

/// Anything up to this is too small to be a copy of an operand.
const SMALL: u64 = 4096;

impl Parts {
    /// Whether both are probably of one engine.
    pub(crate) fn is_like(self, other: Self) -> bool {
        let without = |parts| match parts {
            Self::PartialSums { besides } => (None, besides > SMALL),
            Self::Copies { input, filter, output, besides } => {
                (Some((input, filter, output)), besides > SMALL)
            }
        };
        without(self) == without(other)
    }
}

impl Operands {
    pub(crate) fn of(shape: &Shape, batch: u64) -> Self {
        let width = bytes_of(shape.data_type).max(1);
        let groups = shape.groups.max(1);
        let (channels, filters) = (shape.channels / groups, shape.filters / groups);
        let fours = |count: u64| count.next_multiple_of(4);
        let padded = |count: u64| count.next_multiple_of((16 / width).max(1));
        let taps = shape.kernel[0] * shape.kernel[1];
        let outputs: u64 = (0..2)
            .map(|side| {
                let reach = shape.dilation[side] * shape.kernel[side].saturating_sub(1) + 1;
                (shape.input[side] + 2 * shape.pad[side]).saturating_sub(reach) / shape.stride[side].max(1)
                    + 1
            })
            .product();
        let inputs = shape.input[0] * shape.input[1];
        let input = |channels: u64| batch * groups * channels * inputs * width;
        let output = |filters: u64| batch * groups * filters * outputs * width;
        let filter = |filters: u64, channels: u64| groups * filters * channels * taps * width;
        Self {
            input: [input(channels), input(fours(channels)), input(padded(channels))],
            filter: [
                filter(filters, channels),
                filter(filters, fours(channels)),
                filter(filters, padded(channels)),
                filter(fours(filters), fours(channels)),
                filter(padded(filters), padded(channels)),
            ],
            output: [output(filters), output(fours(filters)), output(padded(filters))],
            partial: batch * filter(filters, channels) / width * 4,
        }
    }

    /// What a measured workspace was made of: the copies that explain most of it.
    pub(crate) fn explain(&self, bytes: u64) -> Parts {
        let nothing = Parts::Copies { input: None, filter: None, output: None, besides: bytes };
        if bytes <= SMALL {
            return nothing;
        }
        if let Some(besides) = bytes.checked_sub(self.partial).filter(|rest| *rest <= 400) {
            return Parts::PartialSums { besides };
        }
        let choices = |operand: &[u64]| {
            let mut choices: Vec<(Option<usize>, u64)> = vec![(None, 0)];
            choices.extend(operand.iter().enumerate().map(|(at, size)| (Some(at), *size)));
            choices
        };
        let mut best = (bytes, nothing);
        for (input, input_bytes) in choices(&self.input) {
            for (filter, filter_bytes) in choices(&self.filter) {
                for (output, output_bytes) in choices(&self.output) {
                    let copies = input_bytes + filter_bytes + output_bytes;
                    if let Some(besides) = bytes.checked_sub(copies)
                        && besides < best.0
                    {
                        best = (besides, Parts::Copies { input, filter, output, besides });
                    }
                }
            }
        }
        best.1
    }

    /// The workspace of the same engine for these operands.
    pub(crate) fn compose(&self, parts: Parts) -> u64 {
        let copy = |operand: &[u64], which: Option<usize>| {
            which.and_then(|at| operand.get(at)).copied().unwrap_or(0)
        };
        match parts {
            Parts::PartialSums { besides } => self.partial + besides,
            Parts::Copies { input, filter, output, besides } => {
                copy(&self.input, input) + copy(&self.filter, filter) + copy(&self.output, output) + besides
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::measured::read;
    use super::*;

    #[test]
    fn a_workspace_is_explained_by_copies_and_follows_the_batch() {
        // The first layer of a network in bfloat16, whose three channels are padded to eight.
        let line = "bf16 first 3 224 224 64 7 7 2 2 3 3 1 1 1:128 308331536 0 0";
        let shape = read(line).expect("the line is whole").remove(0).shape;
        let parts = Operands::of(&shape, 128).explain(308_331_536);
        assert_eq!(parts, Parts::Copies { input: Some(2), filter: Some(2), output: Some(0), besides: 16 });
        assert_eq!(Operands::of(&shape, 128).compose(parts), 308_331_536);
        let (input, filter, output) = (8 * 224 * 224 * 2, 64 * 8 * 49 * 2, 64 * 112 * 112 * 2);
        assert_eq!(Operands::of(&shape, 3).compose(parts), 3 * (input + output) + filter + 16);
    }

    #[test]
    fn partial_sums_are_one_filter_for_each_element_of_the_batch() {
        let line = "fp16 first 256 16 16 192 1 1 1 1 0 0 1 1 1:64 0 0 12582912";
        let shape = read(line).expect("the line is whole").remove(0).shape;
        let parts = Operands::of(&shape, 64).explain(12_582_912);
        assert_eq!(parts, Parts::PartialSums { besides: 0 });
        assert_eq!(Operands::of(&shape, 16).compose(parts), 16 * 256 * 192 * 4);
    }
}

//! The table of measured convolutions, and which of them is nearest to another.

use std::sync::OnceLock;

use crate::cudnn::bytes_of;
use crate::cudnn::problem::Convolution;

/// A convolution without its batch, as the table describes it. It decides how near two of them are.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Shape {
    /// `cudnnDataType_t`.
    pub(crate) data_type: i32,
    pub(crate) channels_last: bool,
    pub(crate) channels: u64,
    /// Height and width, like those of kernel, stride, pads and dilation. All dimensions but the last count as height.
    pub(crate) input: [u64; 2],
    pub(crate) filters: u64,
    pub(crate) kernel: [u64; 2],
    pub(crate) stride: [u64; 2],
    pub(crate) pad: [u64; 2],
    pub(crate) dilation: [u64; 2],
    pub(crate) groups: u64,
    /// What is compared, computed once.
    place: Place,
}

/// Where a shape lies among others.
#[derive(Clone, Debug, Default, PartialEq)]
struct Place {
    /// What two shapes must agree in to be compared at all.
    kind: [u8; 5],
    /// What decides how far apart they are: weighted logarithms.
    at: [f64; 9],
}

/// A measured convolution.
#[derive(Clone, Debug)]
pub(crate) struct Measurement {
    pub(crate) shape: Shape,
    pub(crate) batch: u64,
    /// The workspaces that are known: forward, for the input's gradient, for the filter's gradient.
    pub(crate) bytes: [Option<u64>; 3],
}

/// Whether channels do not fill whole units of 16 bytes.
fn is_padded(channels: u64, data_type: i32) -> bool {
    !channels.is_multiple_of(16 / bytes_of(data_type).clamp(1, 8))
}

impl Shape {
    /// With its place among others.
    fn placed(mut self) -> Self {
        let (channels, filters) = (self.channels / self.groups.max(1), self.filters / self.groups.max(1));
        let area = |sides: [u64; 2]| sides[0] * sides[1];
        let grouping = match self.groups {
            0 | 1 => 0,
            groups if groups == self.channels => 2,
            _ => 1,
        };
        let log = |number: u64| (number.max(1) as f64).log2();
        let penalty = |is: bool| if is { 1.5 } else { 0.0 };
        self.place = Place {
            kind: [
                u8::from(bytes_of(self.data_type) < 4),
                u8::from(self.channels_last),
                grouping,
                u8::from(area(self.kernel) == 1),
                u8::from(area(self.input) == 1),
            ],
            at: [
                log(channels),
                log(filters),
                0.5 * log(area(self.input)),
                log(area(self.kernel)),
                2.0 * log(self.stride[0]),
                2.0 * log(self.dilation[0]),
                0.7 * log(self.groups),
                penalty(is_padded(channels, self.data_type)),
                penalty(is_padded(filters, self.data_type)),
            ],
        };
        self
    }

    /// The shape of a convolution.
    pub(crate) fn of(asked: &Convolution) -> Self {
        let sides = |dims: &[i64], missing: u64| {
            let natural = |side: &i64| u64::try_from(*side).unwrap_or(0);
            let (last, rest) =
                dims.split_last().map_or((missing, &dims[..0]), |(last, rest)| (natural(last), rest));
            [rest.iter().map(natural).product::<u64>(), last]
        };
        Self {
            data_type: asked.input.data_type,
            channels_last: asked.input.is_channels_last(),
            channels: asked.input.dim(1),
            input: sides(asked.input.dims.get(2..).unwrap_or(&[]), 1),
            filters: asked.filter.dim(0),
            kernel: sides(asked.filter.dims.get(2..).unwrap_or(&[]), 1),
            stride: sides(&asked.moves.strides, 1),
            pad: sides(&asked.moves.pads, 0),
            dilation: sides(&asked.moves.dilations, 1),
            groups: asked.groups(),
            place: Place::default(),
        }
        .placed()
    }

    /// How far another shape is; `None` where they cannot be compared.
    fn distance(&self, other: &Self) -> Option<f64> {
        if self.place.kind != other.place.kind {
            return None;
        }
        let apart: f64 =
            self.place.at.iter().zip(other.place.at).map(|(here, there)| (here - there).abs()).sum();
        // Pads and types of the same width hardly matter, but equal ones are nearer.
        let differs = f64::from(u8::from(self.pad != other.pad || self.kernel != other.kernel));
        Some(apart + 0.2 * differs + 0.05 * f64::from(u8::from(self.data_type != other.data_type)))
    }
}

/// Reads one line of the table: the shape, then its batches.
pub(super) fn read(line: &str) -> Option<Vec<Measurement>> {
    let (shape, batches) = line.split_once(':')?;
    let mut words = shape.split(' ');
    let data_type = match words.next()? {
        "fp32" => 0,
        "fp16" => 2,
        "bf16" => 9,
        _ => return None,
    };
    let channels_last = words.next()? == "last";
    let numbers: Vec<u64> = words.map(|word| word.parse().ok()).collect::<Option<_>>()?;
    let &[channels, height, width, filters, kh, kw, sh, sw, ph, pw, dh, dw, groups] = numbers.as_slice()
    else {
        return None;
    };
    let shape = Shape {
        data_type,
        channels_last,
        channels,
        input: [height, width],
        filters,
        kernel: [kh, kw],
        stride: [sh, sw],
        pad: [ph, pw],
        dilation: [dh, dw],
        groups,
        place: Place::default(),
    }
    .placed();
    let one = |batch: &str| {
        let mut words = batch.split(' ');
        let batch = words.next()?.parse().ok()?;
        let mut bytes = [None; 3];
        for known in &mut bytes {
            let word = words.next()?;
            if word != "-" {
                *known = Some(word.parse().ok()?);
            }
        }
        Some(Measurement { shape: shape.clone(), batch, bytes })
    };
    batches.split(';').map(one).collect()
}

/// All measurements. They were made on an H200 and serve for other cards, too.
fn table() -> &'static [Measurement] {
    static TABLE: OnceLock<Vec<Measurement>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let lines = include_str!("h200.txt").lines().filter(|line| !line.starts_with('#'));
        lines.filter_map(read).flatten().collect()
    })
}

/// The measured convolutions that are nearest to this one, with their distances and workspaces, nearest first. Only
/// those count whose workspace in this direction is known; `but_itself`: and which are of another shape.
pub(crate) fn nearest(
    shape: &Shape,
    batch: u64,
    direction: usize,
    count: usize,
    but_itself: bool,
) -> Vec<(f64, u64, &'static Measurement)> {
    let distance = |measured: &Measurement| {
        let apart = shape.distance(&measured.shape)?;
        let batches = ((batch.max(1) as f64) / (measured.batch.max(1) as f64)).log2().abs();
        // Another batch of the same shape is a better guide than the same batch of another shape.
        Some(apart + batches * if apart < 0.1 { 0.5 } else { 1.0 })
    };
    let known = |measured: &'static Measurement| {
        if but_itself && measured.shape == *shape {
            return None;
        }
        Some((distance(measured)?, measured.bytes.get(direction).copied().flatten()?, measured))
    };
    let mut near: Vec<_> = table().iter().filter_map(known).enumerate().collect();
    // Of equally near ones the first in the table. Most are far, and need no order.
    let order = |one: &(usize, (f64, u64, &Measurement)), other: &(usize, (f64, u64, &Measurement))| {
        one.1.0.total_cmp(&other.1.0).then(one.0.cmp(&other.0))
    };
    if count < near.len() {
        near.select_nth_unstable_by(count, order);
        near.truncate(count);
    }
    near.sort_unstable_by(order);
    near.into_iter().map(|(_, found)| found).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_read() {
        let lines = include_str!("h200.txt").lines().filter(|line| !line.starts_with('#'));
        assert_eq!(lines.filter(|line| read(line).is_none()).collect::<Vec<_>>(), Vec::<&str>::new());
        assert!(table().len() > 18_000);
    }

    #[test]
    fn a_measured_convolution_is_nearest_to_itself() {
        for measured in table().iter().filter(|it| it.bytes[2].is_some()).step_by(97) {
            let found = nearest(&measured.shape, measured.batch, 2, 1, false);
            let [(distance, _, found)] = found.as_slice() else { panic!("one was asked for") };
            assert_eq!((&found.shape, found.batch, *distance), (&measured.shape, measured.batch, 0.0));
            let others = nearest(&measured.shape, measured.batch, 2, 1, true);
            assert!(others.iter().all(|(.., other)| other.shape != measured.shape));
        }
    }
}

//! What engines of Hopper work in for sums that they split.
//!
//! Such an engine computes the output in tiles, one by each processor, and clusters of processors take tiles that lie side by
//! side. In the last round tiles are left over for fewer processors than there are. Then each of these tiles is computed by
//! several of them, each over a part of the sum, and what the parts have lies in the workspace until it is added up, two by two.
//!
//! How many clusters a card can run at once depends on how its processors are grouped. cuDNN is not told that of a card that is
//! only described, and counts as if the card had one group. So it is counted here; the rule and its numbers were found in
//! 10,000 workspaces of an H200, of which it has 95% to the byte.

use super::bytes_of;
use super::problem::{Convolution, Direction};

/// How an engine is set up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Setting {
    /// The number of its tiles' size.
    pub(super) tile: i64,
    /// How many tiles a cluster takes, down and across.
    pub(super) cluster: [u64; 2],
    /// Whether it may split sums.
    pub(super) splits: bool,
    /// What it works in where it splits none, as cuDNN says.
    pub(super) whole: u64,
}

/// What an engine works in, and by how much that may be wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Workspace {
    pub(super) bytes: u64,
    pub(super) doubt: u64,
}

/// The capability of the cards, and the version of cuDNN, whose engines do it by this rule.
pub(super) const KNOWN: ((u8, u8), usize) = ((9, 0), 91_900);

/// Rows and columns of a tile, by its number.
const TILES: [(i64, [u64; 2]); 13] = [
    (0, [128, 128]),
    (1, [128, 64]),
    (2, [128, 256]),
    (3, [256, 128]),
    (4, [256, 64]),
    (5, [64, 64]),
    (6, [128, 256]),
    (7, [64, 128]),
    (9, [64, 256]),
    (16, [256, 32]),
    (18, [64, 192]),
    (19, [256, 96]),
    (20, [256, 96]),
];
/// The processors that clusters of a size keep busy at once, on a card of so many.
const BUSY: [(u64, u64); 9] =
    [(1, 132), (2, 132), (3, 117), (4, 120), (5, 110), (6, 102), (7, 105), (8, 120), (16, 112)];
const PROCESSORS: u64 = 132;
/// Sums are of 32 bits.
const SUM: u64 = 4;
/// Where lists stand in the workspace they may have to be moved by so much.
const ALIGNMENT: u64 = 127;
/// With more than two rounds, tiles are given out by a counter.
const COUNTER: u64 = 4;
/// A sum is told as ready by a number, of which there are some more.
const FLAGS: u64 = 8;
/// What is read of both operands in one go: so many bytes of each row.
const DEPTH: u64 = 128;
/// With at least so many goes for each part, no sum was seen to be split less than it can be, but for a few.
const PLENTY: u64 = 64;

/// The product of matrices that a convolution is.
struct Product {
    rows: u64,
    columns: u64,
    /// How often the columns are there: gradients of filters have them for each place of the filter.
    times: u64,
    /// Over how much is summed.
    depth: u64,
}

impl Product {
    fn of(asked: &Convolution) -> Self {
        let groups = asked.groups();
        let places =
            |dims: &[i64]| dims.iter().skip(2).map(|dim| u64::try_from(*dim).unwrap_or(0)).product::<u64>();
        let pixels = |dims: &[i64], batch: u64| batch * places(dims);
        let (filters, channels) = (asked.filter.dim(0) / groups, asked.filter.dim(1));
        let taps = places(&asked.filter.dims);
        let outputs = pixels(&asked.output.dims, asked.output.dim(0));
        match asked.direction {
            Direction::Forward => Self { rows: outputs, columns: filters, times: 1, depth: channels * taps },
            Direction::Data => {
                let inputs = pixels(&asked.input.dims, asked.input.dim(0));
                Self { rows: inputs, columns: channels, times: 1, depth: filters * taps }
            }
            Direction::Filter => Self { rows: filters, columns: channels, times: taps, depth: outputs },
        }
    }
}

/// What an engine of that setting works in on a card of so many processors.
pub(super) fn workspace(asked: &Convolution, setting: &Setting, processors: u64) -> Workspace {
    // The counter is the only thing of an odd size.
    let counts = if setting.whole % 2 == 1 { ALIGNMENT + COUNTER } else { 0 };
    let copies = setting.whole.saturating_sub(counts);
    let in_a_cluster = setting.cluster[0] * setting.cluster[1];
    let tile = TILES.iter().find(|(number, _)| *number == setting.tile).map(|(_, sides)| *sides);
    let busy = BUSY.iter().find(|(size, _)| *size == in_a_cluster).map(|(_, busy)| *busy);
    let (Some([down, across]), Some(busy)) = (tile, busy) else {
        let most = if setting.splits { processors * 256 * 128 * SUM } else { 0 };
        return Workspace { bytes: copies, doubt: most };
    };
    // Of cards with fewer processors nobody has measured how they are grouped.
    let busy = (busy * processors / PROCESSORS / in_a_cluster * in_a_cluster).max(in_a_cluster);
    let product = Product::of(asked);
    let tiles = product.rows.div_ceil(down).next_multiple_of(setting.cluster[0])
        * (product.columns.div_ceil(across) * product.times).next_multiple_of(setting.cluster[1])
        * asked.groups();
    let counter = if tiles > 2 * busy { COUNTER } else { 0 };
    let left = if tiles <= busy { tiles } else { tiles % busy };
    let most = busy.checked_div(left).unwrap_or(1);
    let lists = |flags: u64| if flags + counter > 0 { ALIGNMENT + counter + 4 * flags } else { 0 };
    if most < 2 || !setting.splits {
        return Workspace { bytes: copies + lists(0), doubt: 0 };
    }
    let works_in = |parts: u64| match parts {
        1 => copies + lists(0),
        parts => copies + left * parts * down * across * SUM + lists(left * additions(parts) + FLAGS),
    };
    let width = bytes_of(asked.input.data_type).clamp(1, DEPTH);
    let goes = product.depth.div_ceil(DEPTH / width);
    let parts = parts(most, goes, adding_takes(width, tiles > busy));
    let is_sure = parts == most && goes / parts >= PLENTY && asked.groups() == 1 && processors == PROCESSORS;
    let largest = works_in(most).max(works_in(parts));
    Workspace { bytes: works_in(parts), doubt: if is_sure { 0 } else { largest - copies } }
}

/// Into how many parts a sum is split: as many as make it the quickest. It takes as many goes as the longest part has, and
/// each time that two parts are added takes as long as some goes.
fn parts(most: u64, goes: u64, adding: u64) -> u64 {
    let takes =
        |parts: u64| goes.div_ceil(parts) + adding * u64::from(parts.next_power_of_two().trailing_zeros());
    (1..=most).min_by_key(|parts| takes(*parts)).unwrap_or(1)
}

/// In goes: with other rounds before the last one, much of it is hidden.
fn adding_takes(width: u64, is_hidden: bool) -> u64 {
    match (width >= 4, is_hidden) {
        (true, false) => 12,
        (true, true) => 4,
        (false, false) => 8,
        (false, true) => 3,
    }
}

/// How many sums are added up to one: half of them, then half of these, where of an odd number one is left.
fn additions(parts: u64) -> u64 {
    let mut left = parts;
    let mut count = 0;
    while left > 1 {
        left = left.div_ceil(2);
        count += left;
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cudnn::descriptors::Movement;
    use crate::cudnn::problem::tests::dense;

    /// A convolution with kernels of three by three, and what it copies.
    fn layer(direction: Direction, data_type: i32, input: [i64; 4], filters: i64) -> (Convolution, u64) {
        let [batch, channels, height, width] = input;
        let tensors = [
            dense(data_type, &input),
            dense(data_type, &[filters, channels, 3, 3]),
            dense(data_type, &[batch, filters, height, width]),
        ];
        let copies = tensors.iter().map(|tensor| tensor.dims.iter().product::<i64>() as u64).sum::<u64>();
        let [input, filter, output] = tensors;
        let moves = Movement { pads: vec![1, 1], strides: vec![1, 1], dilations: vec![1, 1] };
        (Convolution { direction, input, filter, output, moves }, copies * bytes_of(data_type) + 16)
    }

    /// What an H200 said, without the copies.
    fn check(asked: (Convolution, u64), tile: i64, cluster: [u64; 2], splits: bool, expected: (u64, bool)) {
        let (convolution, copies) = asked;
        let setting = Setting { tile, cluster, splits, whole: copies + 131 };
        let found = workspace(&convolution, &setting, 132);
        assert_eq!((found.bytes - copies, found.doubt == 0), expected);
    }

    #[test]
    fn sums_of_a_last_round_are_split() {
        // 36 tiles, of which 132 processors compute three parts each.
        let filter = |input, filters| layer(Direction::Filter, 0, input, filters);
        check(filter([4, 256, 136, 152], 256), 0, [1, 1], true, (108 * 65536 + 591, true));
        // Nine tiles: 14 parts; in pairs they are ten, so 13.
        check(filter([24, 128, 64, 64], 128), 0, [1, 1], true, (126 * 65536 + 663, true));
        check(filter([24, 128, 64, 64], 128), 0, [1, 2], true, (130 * 65536 + 719, true));
        // One round of 132 tiles, and twelve.
        check(filter([24, 512, 16, 16], 512), 0, [1, 1], true, (132 * 65536 + 735, false));
        // Two rounds, and 24: by a counter.
        check(filter([6, 1024, 37, 37], 512), 0, [1, 2], true, (120 * 65536 + 739, false));
    }

    #[test]
    fn short_sums_are_split_less() {
        check(layer(Direction::Filter, 0, [6, 512, 16, 16], 512), 0, [1, 2], true, (96 * 65536 + 495, false));
        check(layer(Direction::Forward, 0, [8, 256, 32, 40], 256), 9, [4, 1], true, (7_864_975 - 16, false));
    }

    #[test]
    fn what_is_not_split_has_a_counter_or_nothing() {
        check(layer(Direction::Filter, 0, [32, 1024, 8, 8], 512), 0, [1, 1], false, (131, true));
        check(layer(Direction::Forward, 0, [8, 256, 14, 15], 256), 5, [2, 4], true, (0, true));
    }

    #[test]
    fn of_a_tile_that_nobody_measured_the_copies_are_told() {
        let (convolution, copies) = layer(Direction::Forward, 9, [8, 64, 56, 56], 64);
        let setting = Setting { tile: 77, cluster: [1, 1], splits: true, whole: copies };
        let expected = Workspace { bytes: copies, doubt: 132 * 256 * 128 * 4 };
        assert_eq!(workspace(&convolution, &setting, 132), expected);
    }
}

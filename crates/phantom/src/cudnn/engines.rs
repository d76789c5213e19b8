//! Which engines cuDNN would choose for a convolution, and how that is asked and told in lines of text.

use std::ffi::c_int;
use std::fmt::Write;
use std::sync::Arc;

use super::descriptors::{Movement, Tensor};
use super::library::{Given, Twin, make};
use super::number;
use super::problem::{Convolution, Direction};
use super::splits::{self, Setting};

/// An engine with its settings, as cuDNN offers it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Engine {
    /// Its number, of the version of cuDNN that was asked.
    pub(crate) number: i64,
    /// What it works in.
    pub(crate) bytes: u64,
    /// By how much that may be wrong, where it was counted here; `None` where cuDNN says it.
    pub(crate) doubt: Option<u64>,
    /// `cudnnBackendNumericalNote_t`: what a program may not want of it.
    pub(crate) notes: Vec<c_int>,
}

/// More engines than this are not told: programs take the first that they like.
const MOST: usize = 64;
/// An engine has fewer knobs, and fewer notes.
const MOST_KNOBS: usize = 16;
const MOST_NOTES: usize = 32;

fn list<T: ToString>(values: &[T]) -> String {
    values.iter().map(ToString::to_string).collect::<Vec<_>>().join(",")
}

fn numbers<T: std::str::FromStr>(text: &str) -> Option<Vec<T>> {
    text.split(',').filter(|word| !word.is_empty()).map(|word| word.parse().ok()).collect()
}

/// A question as a line: how to choose, then the convolution.
pub(crate) fn question(mode: c_int, asked: &Convolution) -> String {
    let mut line = format!("{mode};{};{}", asked.direction as usize, asked.input.data_type);
    for tensor in [&asked.input, &asked.filter, &asked.output] {
        let _ = write!(line, ";{};{}", list(&tensor.dims), list(&tensor.strides));
    }
    let Movement { pads, strides, dilations } = &asked.moves;
    let _ = write!(line, ";{};{};{}", list(pads), list(strides), list(dilations));
    line
}

/// Reads a question.
fn read_question(line: &str) -> Option<(c_int, Convolution)> {
    let words: Vec<&str> = line.split(';').collect();
    let &[mode, direction, data_type, xd, xs, wd, ws, yd, ys, pads, strides, dilations] = words.as_slice()
    else {
        return None;
    };
    let data_type = data_type.parse().ok()?;
    let tensor = |dims, strides| Some(Tensor { data_type, dims: numbers(dims)?, strides: numbers(strides)? });
    let convolution = Convolution {
        direction: *Direction::ALL.get(direction.parse::<usize>().ok()?)?,
        input: tensor(xd, xs)?,
        filter: tensor(wd, ws)?,
        output: tensor(yd, ys)?,
        moves: Movement { pads: numbers(pads)?, strides: numbers(strides)?, dilations: numbers(dilations)? },
    };
    Some((mode.parse().ok()?, convolution))
}

/// An answer as a line; the first choice first.
fn answer(engines: &[Engine]) -> String {
    let told = engines.iter().map(|engine| {
        let doubt = engine.doubt.map(|doubt| format!(":{doubt}")).unwrap_or_default();
        format!("{}:{}:{}{doubt}", engine.number, engine.bytes, list(&engine.notes))
    });
    told.collect::<Vec<_>>().join(" ")
}

/// Reads an answer; `None` where it is none.
pub(crate) fn read_answer(line: &str) -> Option<Vec<Engine>> {
    let one = |word: &str| {
        let mut parts = word.split(':');
        let (number, bytes, notes) = (parts.next()?, parts.next()?, parts.next()?);
        let doubt = parts.next().map(str::parse).transpose().ok()?;
        let (number, bytes) = (number.parse().ok()?, bytes.parse().ok()?);
        Some(Engine { number, bytes, doubt, notes: numbers(notes)? })
    };
    line.split_whitespace().map(one).collect()
}

/// The answer to a question about a card. `splits_of` is how many processors it has, where it is a card whose engines split sums
/// by a rule that is known.
pub(super) fn tell(line: &str, card: &Arc<Twin>, splits_of: Option<u64>) -> String {
    let engines = read_question(line).and_then(|(mode, asked)| choose(mode, &asked, card, splits_of));
    answer(&engines.unwrap_or_default())
}

/// Asks the real library.
fn choose(mode: c_int, asked: &Convolution, card: &Arc<Twin>, splits_of: Option<u64>) -> Option<Vec<Engine>> {
    let graph = graph(asked)?;
    let mode = mode.to_ne_bytes();
    let heuristics = make(
        number::HEURISTIC,
        [
            (number::HEURISTIC_GRAPH, Given::Twins(vec![Arc::new(graph)])),
            (number::HEURISTIC_MODE, Given::Plain(number::TYPE_HEURISTIC_MODE, 1, &mode)),
            (number::HEURISTIC_CARD, Given::Twins(vec![Arc::clone(card)])),
        ],
    )?;
    let engine = |configuration: &Twin| {
        let engine = Arc::new(configuration.parts(number::CONFIGURATION_ENGINE, number::ENGINE, 1).pop()?);
        let bytes = bytes_worked_in(configuration)?;
        let split = splits_of.and_then(|processors| {
            Some(splits::workspace(asked, &setting(configuration, &engine)?, processors))
        });
        Some(Engine {
            number: engine.wide(number::ENGINE_INDEX)?,
            bytes: split.map_or(bytes, |split| split.bytes),
            doubt: split.map(|split| split.doubt),
            notes: engine.enumerators::<MOST_NOTES>(number::ENGINE_NOTES, number::TYPE_NOTE),
        })
    };
    let found = heuristics.parts(number::HEURISTIC_RESULTS, number::ENGINE_CONFIGURATION, MOST);
    Some(found.iter().filter_map(engine).collect())
}

/// What an engine works in with its settings.
fn bytes_worked_in(configuration: &Twin) -> Option<u64> {
    u64::try_from(configuration.wide(number::CONFIGURATION_WORKSPACE)?).ok()
}

/// How an engine is set up that splits sums; `None` for any other.
fn setting(configuration: &Twin, engine: &Arc<Twin>) -> Option<Setting> {
    let choices = configuration.uncounted_parts(number::CONFIGURATION_CHOICES, number::CHOICE, MOST_KNOBS);
    let read = |choice: &Twin| {
        let knob = choice.enumerator(number::CHOICE_KNOB, number::TYPE_KNOB)?;
        Some((knob, choice.wide(number::CHOICE_VALUE)?))
    };
    let knobs: Vec<(c_int, i64)> = choices.iter().filter_map(read).collect();
    let value = |knob| knobs.iter().find(|(name, _)| *name == knob).map(|(_, value)| *value);
    let [down, across] =
        number::KNOB_CLUSTER.map(|knob| u64::try_from(value(knob)?).ok().filter(|tiles| *tiles > 0));
    let (tile, cluster, splits) =
        (value(number::KNOB_TILE)?, [down?, across?], value(number::KNOB_WORKSPACE)?);
    // The same engine once more, which splits no sum.
    let whole = |(knob, value): &(c_int, i64)| {
        let value = if *knob == number::KNOB_WORKSPACE { 1 } else { *value };
        make(
            number::CHOICE,
            [
                (number::CHOICE_KNOB, Given::Plain(number::TYPE_KNOB, 1, &knob.to_ne_bytes())),
                (number::CHOICE_VALUE, Given::Plain(number::TYPE_WIDE, 1, &value.to_ne_bytes())),
            ],
        )
    };
    let knobs = knobs.iter().map(|knob| whole(knob).map(Arc::new)).collect::<Option<Vec<_>>>()?;
    let whole = make(
        number::ENGINE_CONFIGURATION,
        [
            (number::CONFIGURATION_ENGINE, Given::Twins(vec![Arc::clone(engine)])),
            (number::CONFIGURATION_CHOICES, Given::Twins(knobs)),
        ],
    )?;
    Some(Setting { tile, cluster, splits: splits == 0, whole: bytes_worked_in(&whole)? })
}

fn bytes_of(values: &[i64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_ne_bytes()).collect()
}

/// The graph of one operation, as PyTorch builds it.
fn graph(asked: &Convolution) -> Option<Twin> {
    let Movement { pads, strides, dilations } = &asked.moves;
    if pads.len() != strides.len() || dilations.len() != strides.len() {
        return None;
    }
    let is_double = asked.input.data_type == number::DATA_DOUBLE;
    let compute = if is_double { number::DATA_DOUBLE } else { number::DATA_FLOAT }.to_ne_bytes();
    let dims = i64::try_from(asked.moves.strides.len()).ok()?.to_ne_bytes();
    let mode = number::CROSS_CORRELATION.to_ne_bytes();
    let [pads, strides, dilations] =
        [&asked.moves.pads, &asked.moves.strides, &asked.moves.dilations].map(|values| bytes_of(values));
    let rank = asked.moves.strides.len();
    let wide = |bytes| Given::Plain(number::TYPE_WIDE, rank, bytes);
    let [pads_before, moved_by, dilated_by] = number::MOVES;
    let moves = make(
        number::MOVEMENT,
        [
            (number::MOVEMENT_TYPE, Given::Plain(number::TYPE_DATA, 1, &compute)),
            (number::MOVEMENT_MODE, Given::Plain(number::TYPE_CONVOLUTION_MODE, 1, &mode)),
            (number::MOVEMENT_RANK, Given::Plain(number::TYPE_WIDE, 1, &dims)),
            (pads_before, wide(&pads)),
            (number::PADS_BEHIND, wide(&pads)),
            (dilated_by, wide(&dilations)),
            (moved_by, wide(&strides)),
        ],
    )?;
    let (kind, [movement, filter, input, output]) = match asked.direction {
        Direction::Forward => (number::CONVOLUTION_FORWARD, number::FORWARD),
        Direction::Data => (number::CONVOLUTION_DATA, number::DATA),
        Direction::Filter => (number::CONVOLUTION_FILTER, number::FILTER),
    };
    let [x, w, y] = [(&asked.input, 'x'), (&asked.filter, 'w'), (&asked.output, 'y')]
        .map(|(shape, name)| tensor(shape, i64::from(u32::from(name))));
    let (one, zero, scale) = if is_double {
        (1.0_f64.to_ne_bytes().to_vec(), 0.0_f64.to_ne_bytes().to_vec(), number::TYPE_DOUBLE)
    } else {
        (1.0_f32.to_ne_bytes().to_vec(), 0.0_f32.to_ne_bytes().to_vec(), number::TYPE_FLOAT)
    };
    let twin = |twin: Twin| Given::Twins(vec![Arc::new(twin)]);
    let operation = make(
        kind,
        [
            (movement - 2, Given::Plain(scale, 1, &one)),
            (movement - 1, Given::Plain(scale, 1, &zero)),
            (movement, twin(moves)),
            (filter, twin(w?)),
            (input, twin(x?)),
            (output, twin(y?)),
        ],
    )?;
    make(number::GRAPH, [(number::GRAPH_OPERATIONS, twin(operation))])
}

fn tensor(shape: &Tensor, name: i64) -> Option<Twin> {
    /// PyTorch looks at addresses: the allocator's are multiples of 512, and it counts up to this.
    const ALIGNMENT: i64 = 32;
    let (dims, strides) = (bytes_of(&shape.dims), bytes_of(&shape.strides));
    make(
        number::TENSOR,
        [
            (number::TENSOR_TYPE, Given::Plain(number::TYPE_DATA, 1, &shape.data_type.to_ne_bytes())),
            (number::TENSOR_DIMENSIONS, Given::Plain(number::TYPE_WIDE, shape.dims.len(), &dims)),
            (number::TENSOR_STRIDES, Given::Plain(number::TYPE_WIDE, shape.strides.len(), &strides)),
            (number::TENSOR_NAME, Given::Plain(number::TYPE_WIDE, 1, &name.to_ne_bytes())),
            (number::TENSOR_ALIGNMENT, Given::Plain(number::TYPE_WIDE, 1, &ALIGNMENT.to_ne_bytes())),
        ],
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cudnn::problem::tests::dense;

    #[test]
    fn questions_and_answers_are_read_as_they_were_written() {
        let asked = Convolution {
            direction: Direction::Filter,
            input: dense(9, &[2, 3, 4, 8, 8]),
            filter: dense(9, &[6, 3, 1, 3, 3]),
            output: dense(9, &[2, 6, 4, 8, 8]),
            moves: Movement { pads: vec![0, 1, 1], strides: vec![1; 3], dilations: vec![1; 3] },
        };
        let line = question(0, &asked);
        assert_eq!(
            line,
            "0;2;9;2,3,4,8,8;768,256,64,8,1;6,3,1,3,3;27,9,9,3,1;2,6,4,8,8;1536,256,64,8,1;0,1,1;1,1,1;1,1,1"
        );
        assert_eq!(read_question(&line), Some((0, asked)));
        let engines = vec![
            Engine { number: 58, bytes: 400, notes: vec![0, 4], doubt: None },
            Engine { number: 67, bytes: 0, notes: vec![], doubt: Some(131) },
        ];
        assert_eq!(answer(&engines), "58:400:0,4 67:0::131");
        assert_eq!(read_answer("58:400:0,4 67:0::131"), Some(engines));
        assert_eq!((read_answer(""), read_answer("58:x:")), (Some(Vec::new()), None));
        assert_eq!(read_question("0;1"), None);
    }
}

//! The language of allocator scripts.

use std::str::FromStr;

use oomph_trace::Bytes;

/// One step of a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// `a b = alloc 3MiB on s1 in p1`: the same request for each name.
    Alloc {
        /// Who gets the memory.
        names: Vec<String>,
        /// How much each.
        size: Bytes,
        /// The number of the stream.
        stream: u16,
        /// Out of which pool, if not the default one.
        pool: Option<Pool>,
    },
    /// `free a b`, one after the other.
    Free(Vec<String>),
    /// `free a b later`: another stream still uses them.
    FreeLater(Vec<String>),
    /// `complete a b`: no other stream uses them any more.
    Complete(Vec<String>),
    /// `empty_cache`
    EmptyCache,
    /// `abandon p1`: its last user is gone.
    Abandon(Pool),
    /// `draw`: adds the state at this point to the drawing.
    Draw,
    /// `counters`: adds the counters at this point.
    Counters,
    /// `tally`: adds what happened under pressure so far.
    Tally,
    /// `driver`: adds the calls of the driver since the last `driver`.
    Driver,
}

/// A private pool: `p1` is filled by a graph capture, `m1` by a `MemPool` scope that captures nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pool {
    /// As written.
    pub name: String,
    /// Whether requests to it come from a capture.
    pub captures: bool,
}

impl FromStr for Pool {
    type Err = String;

    fn from_str(text: &str) -> Result<Pool, String> {
        let captures = match text.as_bytes().first() {
            Some(b'p') => true,
            Some(b'm') => false,
            _ => return Err(format!("`{text}` is not a pool: write p1 (captured) or m1 (not captured)")),
        };
        Ok(Pool { name: text.to_owned(), captures })
    }
}

/// Reads a script: steps separated by `;` or line ends. An error quotes the step.
pub fn parse(script: &str) -> Result<Vec<Step>, String> {
    let steps = script.split([';', '\n']).map(str::trim).filter(|step| !step.is_empty());
    steps.map(|step| parse_step(step).map_err(|problem| format!("`{step}`: {problem}"))).collect()
}

fn parse_step(step: &str) -> Result<Step, String> {
    if let Some((names, request)) = step.split_once('=') {
        return parse_alloc(names, request);
    }
    let words: Vec<&str> = step.split_whitespace().collect();
    let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    match words[..] {
        ["free", ref names @ .., "later"] if !names.is_empty() => Ok(Step::FreeLater(owned(names))),
        ["free", ref names @ ..] if !names.is_empty() => Ok(Step::Free(owned(names))),
        ["complete", ref names @ ..] if !names.is_empty() => Ok(Step::Complete(owned(names))),
        ["empty_cache"] => Ok(Step::EmptyCache),
        ["abandon", pool] => Ok(Step::Abandon(pool.parse()?)),
        ["draw"] => Ok(Step::Draw),
        ["counters"] => Ok(Step::Counters),
        ["tally"] => Ok(Step::Tally),
        ["driver"] => Ok(Step::Driver),
        _ => Err("not a step".to_owned()),
    }
}

fn parse_alloc(names: &str, request: &str) -> Result<Step, String> {
    let names: Vec<String> = names.split_whitespace().map(str::to_owned).collect();
    let mut words = request.split_whitespace();
    if names.is_empty() || words.next() != Some("alloc") {
        return Err("write NAME = alloc SIZE".to_owned());
    }
    let size =
        words.next().ok_or("a size is missing")?.parse::<Bytes>().map_err(|error| error.to_string())?;
    let (mut stream, mut pool) = (0, None);
    while let Some(word) = words.next() {
        let value = words.next().ok_or(format!("`{word}` what?"))?;
        match word {
            "on" => {
                let number = value.strip_prefix('s').and_then(|number| number.parse().ok());
                stream = number.ok_or(format!("`{value}` is not a stream: write s1"))?;
            }
            "in" => pool = Some(value.parse()?),
            _ => return Err(format!("`{word}` is neither `on` nor `in`")),
        }
    }
    Ok(Step::Alloc { names, size, stream, pool })
}

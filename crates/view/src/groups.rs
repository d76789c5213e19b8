//! What each allocation is counted under: its class, its line, its module, the phase that made it.

use oomph_diagnose::classes::{Class, Classes};
use oomph_diagnose::modules::Modules;
use oomph_diagnose::phases::Phases;
use oomph_diagnose::place::{Line, PlaceId, Places};
use oomph_engine::program::AllocId;
use oomph_engine::recording::Recording;
use oomph_trace::{Bytes, StackId, named};
use rustc_hash::FxHashMap;

use crate::lives::Lives;

/// Groups that are told apart in a picture; the last one is the rest.
pub const GROUPS: usize = 16;
/// The group of all that is not among the largest.
pub const REST: u8 = (GROUPS - 1) as u8;

named! {
    /// What memory in use is parted by.
    Part {
        /// What it is for.
        Class = "class",
        /// The line that asked for it.
        Line = "line",
        /// The module of the model that it is for, where the recording tells; else the Python module that asked for it.
        Module = "module",
        /// The phase in which it was asked for.
        Phase = "phase",
    }
}

/// Names, and which of them each allocation has.
#[derive(Clone, Debug, Default)]
pub struct Named {
    /// The names by number.
    pub names: Vec<String>,
    /// The number of each allocation's name, by id.
    pub of: Vec<u32>,
}

/// Everything that is known of allocations beside their lives. It is the same under every setting.
#[derive(Clone, Debug)]
pub struct Groups {
    /// By [`Part`].
    pub parts: [Named; Part::ALL.len()],
    /// The lines behind the names of [`Part::Line`]; `None`: no stack was recorded.
    pub lines: Vec<Option<Line>>,
    /// The stack of each allocation, by id.
    pub stacks: Vec<Option<StackId>>,
    /// Whether the recording tells classes.
    pub has_classes: bool,
}

impl Groups {
    /// Looks at every allocation once.
    pub fn of(recording: &Recording, phases: &Phases) -> Groups {
        let classes = Classes::find(recording, phases);
        let model = Modules::find(recording, phases);
        let mut places = Places::new(recording);
        let program = &recording.program;
        let count = program.allocations.len();
        let mut lines: Vec<Option<Line>> = Vec::new();
        let mut place_numbers: FxHashMap<PlaceId, u32> = FxHashMap::default();
        let mut modules = Names::default();
        let mut of_stack: FxHashMap<Option<StackId>, (u32, u32)> = FxHashMap::default();
        let mut stacks = Vec::with_capacity(count);
        let mut found: [Vec<u32>; 4] = [(); 4].map(|()| Vec::with_capacity(count));
        let unmarked = oomph_diagnose::phase::Phase::ALL.len() as u32;
        for (id, allocation) in (0..).map(AllocId).zip(&program.allocations) {
            let stack = places.stack_of(allocation);
            let (line, module) = *of_stack.entry(stack).or_insert_with(|| {
                let place = places.of(stack);
                let line = *place_numbers.entry(place).or_insert_with(|| {
                    lines.push(places.get(place).map(|place| place.line.clone()));
                    lines.len() as u32 - 1
                });
                let inner = places.inner(stack).map(|id| places.line(id).file.clone());
                let file = inner.or_else(|| places.get(place).map(|place| place.line.file.clone()));
                (line, modules.number(file.as_deref().map_or(NO_STACK.to_owned(), module)))
            });
            let class = classes.as_ref().map_or(Class::Other, |classes| classes.of(id));
            let phase = allocation.born().and_then(|born| phases.phase_at(born));
            stacks.push(stack);
            found[Part::Class as usize].push(class as u32);
            found[Part::Line as usize].push(line);
            let module = match &model {
                Some(model) => modules.number(model.path(id).unwrap_or_else(|| NO_MODULE.to_owned())),
                None => module,
            };
            found[Part::Module as usize].push(module);
            found[Part::Phase as usize].push(phase.map_or(unmarked, |phase| phase as u32));
        }
        let class_names = Class::ALL.iter().map(|class| class.words()).collect();
        let line_names = lines.iter().map(|line| line.as_ref().map_or(NO_STACK.to_owned(), Line::to_string));
        let phase_names =
            oomph_diagnose::phase::Phase::ALL.iter().map(|phase| phase.name().replace('_', " "));
        let names = [
            class_names,
            line_names.collect(),
            modules.names,
            phase_names.chain(["not marked".to_owned()]).collect(),
        ];
        let mut found = found.into_iter();
        let parts = names.map(|names| Named { names, of: found.next().unwrap_or_default() });
        Groups { parts, lines, stacks, has_classes: classes.is_some() }
    }
}

/// What stands where no module of the model was at work.
const NO_MODULE: &str = "outside of modules";
/// What stands where no stack was recorded.
const NO_STACK: &str = "no stack recorded";

#[derive(Default)]
struct Names {
    names: Vec<String>,
    numbers: FxHashMap<String, u32>,
}

impl Names {
    fn number(&mut self, name: String) -> u32 {
        *self.numbers.entry(name).or_insert_with_key(|name| {
            self.names.push(name.clone());
            self.names.len() as u32 - 1
        })
    }
}

/// A file as Python names the module in it: of a package all of its path, of the user's the file alone.
fn module(file: &str) -> String {
    let file = file.replace('\\', "/");
    let inside = file.rsplit_once("-packages/").map(|(_, path)| path);
    let path = inside.unwrap_or_else(|| file.rsplit('/').next().unwrap_or(&file));
    path.strip_suffix(".py").unwrap_or(path).trim_end_matches("/__init__").replace('/', ".")
}

/// The largest groups of each part, told apart by a small number; what is not among them is [`REST`].
#[derive(Clone, Debug)]
pub struct Ranks {
    /// By [`Part`]: the names by group.
    pub names: [Vec<String>; Part::ALL.len()],
    /// By [`Part`] and number of the name: its group.
    pub group: [Vec<u8>; Part::ALL.len()],
    /// The group of rounding, in [`Part::Class`].
    pub rounding: u8,
}

impl Ranks {
    /// Ranks names by the most that each ever had in use. Classes keep the order of [`Class::ALL`].
    pub fn of(groups: &Groups, lives: &Lives) -> Ranks {
        let mut names = [(); Part::ALL.len()].map(|()| Vec::new());
        let mut group = [(); Part::ALL.len()].map(|()| Vec::new());
        for part in Part::ALL.iter().copied() {
            let named = &groups.parts[part as usize];
            let most = most(named, lives);
            let mut order: Vec<usize> = (0..named.names.len()).collect();
            if part == Part::Class {
                order.retain(|number| most[*number] > Bytes::ZERO || *number == Class::Rounding as usize);
            } else {
                order.sort_by(|a, b| {
                    most[*b].cmp(&most[*a]).then_with(|| named.names[*a].cmp(&named.names[*b]))
                });
                order.retain(|number| most[*number] > Bytes::ZERO);
            }
            let fits = if order.len() <= GROUPS { order.len() } else { GROUPS - 1 };
            let mut of = vec![REST; named.names.len()];
            for (rank, number) in order[..fits].iter().enumerate() {
                of[*number] = rank as u8;
                names[part as usize].push(named.names[*number].clone());
            }
            if fits < order.len() {
                names[part as usize].push(format!("{} others", order.len() - fits));
            }
            group[part as usize] = of;
        }
        let rounding = group[Part::Class as usize][Class::Rounding as usize];
        Ranks { names, group, rounding }
    }
}

/// The most that each name ever had in use.
fn most(named: &Named, lives: &Lives) -> Vec<Bytes> {
    let mut now = vec![Bytes::ZERO; named.names.len()];
    let mut most = now.clone();
    for turn in &lives.turns {
        let number = named.of[turn.id.index()] as usize;
        let size = lives.of[turn.id.index()].size;
        if turn.born {
            now[number] += size;
            most[number] = most[number].max(now[number]);
        } else {
            now[number] = now[number].saturating_sub(size);
        }
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_is_called_as_python_calls_it() {
        for (file, expected) in [
            (
                "/venv/lib/python3.11/site-packages/transformers/models/llama/modeling_llama.py",
                "transformers.models.llama.modeling_llama",
            ),
            ("C:\\venv\\Lib\\site-packages\\torch\\__init__.py", "torch"),
            ("/jobs/train.py", "train"),
            ("In[3]", "In[3]"),
            ("", ""),
        ] {
            assert_eq!(module(file), expected);
        }
    }
}

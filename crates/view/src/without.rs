//! The same job without what one line still holds at a moment.

use oomph_engine::program::{AllocId, OpKind, Program};

use crate::groups::{Groups, Part};
use crate::lives::Lives;

/// The program without the allocations of this name of a line that are in use in `slot`, and how many those are. What was
/// there before the recording stays.
pub fn without(program: &Program, groups: &Groups, lives: &Lives, line: u32, slot: u32) -> (Program, usize) {
    let lines = &groups.parts[Part::Line as usize].of;
    let is_gone = |id: AllocId| {
        let life = &lives.of[id.index()];
        lines[id.index()] == line && life.holds(slot) && program.allocations[id.index()].born().is_some()
    };
    let mut program = program.clone();
    program.ops.retain(|op| match op.kind {
        OpKind::Alloc(id) | OpKind::Free(id) | OpKind::FreeLater(id) | OpKind::Complete(id) => !is_gone(id),
        _ => true,
    });
    let gone = (0..lives.of.len() as u32).filter(|id| is_gone(AllocId(*id))).count();
    (program, gone)
}

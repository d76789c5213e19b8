//! Call stacks like those of a training script: outside the loop, then modules that call modules, inside an operator.

use oomph_trace::{Frame, FrameId, Snapshot, StackId};

use super::random::Random;

const TORCH: &str = "/home/user/project/.venv/lib/python3.12/site-packages/torch";

/// Adds `count` different stacks of `depth` frames to the snapshot's tables.
pub(super) fn add(snapshot: &mut Snapshot, count: usize, depth: usize, random: &mut Random) -> Vec<StackId> {
    let mut frame = |file: &str, function: &str, line: u32| {
        let file = snapshot.texts.intern(file);
        let function = snapshot.texts.intern(function);
        snapshot.stacks.add_frame(Frame { file, function, line })
    };
    let outer = [
        frame("/home/user/project/train.py", "<module>", 215),
        frame("/home/user/project/train.py", "main", 200),
        frame("/home/user/project/train.py", "train_step", 61),
    ];
    let module = format!("{TORCH}/nn/modules/module.py");
    let calls = [frame(&module, "_wrapped_call_impl", 1779), frame(&module, "_call_impl", 1790)];
    let layers: Vec<FrameId> = (0..64)
        .map(|n| frame(&format!("/home/user/project/model/layer{}.py", n / 8), "forward", 40 + 7 * n))
        .collect();
    let functional = format!("{TORCH}/nn/functional.py");
    // Innermost frames differ from stack to stack, so that no two stacks are equal.
    let inner: Vec<FrameId> =
        (0..count.max(1)).map(|n| frame(&functional, "linear", 100 + n as u32)).collect();
    let mut members = Vec::with_capacity(depth);
    inner
        .into_iter()
        .map(|innermost| {
            members.clear();
            members.extend(outer);
            while members.len() + 1 < depth {
                members.extend(calls);
                members.push(layers[random.between(0, layers.len() as u64) as usize]);
            }
            members.truncate(depth.saturating_sub(1));
            if depth > 0 {
                members.push(innermost);
            }
            members.reverse();
            snapshot.stacks.intern(&members)
        })
        .collect()
}

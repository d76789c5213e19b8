//! Folded stacks, one a line, as the programs that draw flame graphs read them.

use oomph_diagnose::stacks_at_peak::HeldStack;

/// The stacks of each device, `outer;inner bytes`, under the device's name where there are several.
pub fn folded(devices: &[(i32, Vec<HeldStack>)]) -> String {
    let mut text = String::new();
    for (device, stacks) in devices {
        for stack in stacks {
            let gpu = (devices.len() > 1).then(|| format!("GPU {device}"));
            let frames = gpu.into_iter().chain(stack.frames.iter().map(|frame| plain(frame)));
            text += &format!("{} {}\n", frames.collect::<Vec<String>>().join(";"), stack.bytes.0);
        }
    }
    text
}

/// A frame without what separates frames and lines.
fn plain(frame: &str) -> String {
    frame.replace(|c: char| c == ';' || c.is_control(), "_")
}

//! What belongs to a model, and what runs one.

use super::Flow;
use crate::names::last;

/// How the names of classes end that are parts of models.
const PARTS: [&str; 8] =
    ["Mixin", "Layer", "Block", "Encoder", "Decoder", "Attention", "Segmentation", "VideoModel"];

impl Flow<'_> {
    /// Whether a function is a part of a model: what it makes belongs to the step it is called in.
    pub(super) fn is_in_model(&self, id: usize) -> bool {
        let mut at = id;
        while at != 0 {
            let function = &self.outline.functions[at];
            if let Some(class) = function.class {
                let is_lightning = |base: &str| base.contains("Lightning");
                if self.outline.is_a(class, &is_lightning) {
                    return false;
                }
                let has_forward = self.outline.method(class, "forward").is_some();
                let is_part = |base: &str| {
                    last(base) == "Function" || PARTS.iter().any(|part| last(base).ends_with(part))
                };
                let name = self.outline.classes[class].def.name.as_str();
                return has_forward
                    || self.outline.is_module(class)
                    || self.outline.is_a(class, &is_part)
                    || PARTS.iter().any(|part| name.ends_with(part));
            }
            at = function.parent;
        }
        // A function that only models call.
        id != 0 && self.summaries[id].called && !self.summaries[id].is_outside && !self.summaries[id].is_hook
    }

    /// Whether a framework calls a function, in every step.
    pub(super) fn is_called_by_a_framework(&self, id: usize) -> bool {
        const CALLED: [&str; 12] = [
            "forward",
            "training_step",
            "validation_step",
            "test_step",
            "predict_step",
            "compute_loss",
            "prediction_step",
            "__getitem__",
            "__call__",
            "on_step_end",
            "on_train_batch_end",
            "evaluation_step",
        ];
        let function = &self.outline.functions[id];
        function.class.is_some() && CALLED.contains(&function.name())
    }
}

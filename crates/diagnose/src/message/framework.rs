//! Who writes messages.

/// Who wrote the message, by the name that its row in the table of signs gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Framework(pub(super) &'static str);

impl Framework {
    /// Its name in output.
    pub const fn name(self) -> &'static str {
        self.0
    }
}

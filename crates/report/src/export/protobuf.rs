//! Protocol buffers, as far as they are written here: numbers, texts, and messages in messages.

/// A message under way. Fields are written in the order of the calls.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Message(Vec<u8>);

/// How a field is written: a number of as many bytes as it takes, or bytes behind their length.
const VARINT: u64 = 0;
const LENGTH: u64 = 2;

impl Message {
    /// A number.
    pub(super) fn number(mut self, field: u32, value: u64) -> Message {
        self.varint(u64::from(field) << 3 | VARINT);
        self.varint(value);
        self
    }

    /// A text.
    pub(super) fn text(self, field: u32, text: &str) -> Message {
        self.bytes(field, text.as_bytes())
    }

    /// Another message.
    pub(super) fn message(self, field: u32, message: &Message) -> Message {
        self.bytes(field, &message.0)
    }

    /// What was written.
    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn bytes(mut self, field: u32, bytes: &[u8]) -> Message {
        self.varint(u64::from(field) << 3 | LENGTH);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
        self
    }

    /// Seven bits a byte, the lowest first; the top bit says that more follow.
    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_encoding_guide_has_them() {
        let written = |message: Message| message.into_bytes();
        assert_eq!(written(Message::default().number(1, 150)), [0x08, 0x96, 0x01]);
        assert_eq!(written(Message::default().text(2, "testing")), *b"\x12\x07testing");
        let inner = Message::default().number(1, 150);
        assert_eq!(written(Message::default().message(3, &inner)), [0x1a, 0x03, 0x08, 0x96, 0x01]);
        assert_eq!(written(Message::default().number(60, u64::MAX)).len(), 2 + 10);
    }
}

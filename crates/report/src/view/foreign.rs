//! Values for the page's JSON. The page shows every text as text; here it is made fit to be shown.

use oomph_trace::Bytes;
use serde_json::{Value, json};

use crate::printable;

/// A text out of a file, as it may be shown. Tabs and line ends become spaces.
pub(super) fn text(text: &str) -> Value {
    let flat = text.replace(['\n', '\t', '\r'], " ");
    Value::String(printable::shown(&flat, &[]).into_owned())
}

/// A number of bytes. JavaScript's numbers are exact up to 2^53, and no device has as much.
pub(super) fn bytes(bytes: Bytes) -> Value {
    json!(bytes.0)
}

/// A document.
pub(super) fn document(value: &Value) -> Vec<u8> {
    value.to_string().into_bytes()
}

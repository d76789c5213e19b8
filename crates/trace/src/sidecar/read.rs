//! From plain values, wherever they come from, to a [`Sidecar`].

use super::Sidecar;
use crate::cgroup::{self, Cgroup};
use crate::units::{Addr, Bytes};

/// Texts of one sidecar are this long together; what comes after counts as missing. A file may name one text many
/// times.
const TEXTS: usize = 4 << 20;
/// No device has more, and sums of such numbers do not overflow.
const MOST_BYTES: u64 = 1 << 56;

/// A plain value as the reader of a sidecar looks at it: from a pickle, or from any other file that holds the same.
pub trait Node: Copy {
    /// The value under this key, if this is a dictionary that has it.
    fn entry(self, key: &str) -> Option<Self>;
    /// How many items a list has; 0 of anything else.
    fn count(self) -> usize;
    /// The item of a list.
    fn item(self, index: usize) -> Option<Self>;
    /// The integer, if it is one from 0 to 2^64 - 1.
    fn integer(self) -> Option<u64>;
    /// The number, whole or not.
    fn number(self) -> Option<f64>;
    /// The truth value.
    fn boolean(self) -> Option<bool>;
    /// The text.
    fn text(&self) -> Option<&str>;
}

impl Sidecar {
    /// Reads the dictionary that a recording holds under `oomph`. A field of the wrong type counts as missing.
    pub fn read(node: impl Node) -> Sidecar {
        let mut sidecar: Sidecar = Field::read(Some(node), &mut { TEXTS }).unwrap_or_default();
        for card in &mut sidecar.devices {
            // PyTorch multiplies and cuts off. The whole card does not count as a limit. Where a PyTorch cannot be asked
            // for its share, the recorder knows only the limit that it set itself.
            let share = card.fraction.filter(|share| *share < 1.0).zip(card.total);
            card.limit = share.map(|(share, total)| Bytes((share * total.0 as f64) as u64)).or(card.limit);
        }
        if let Some(group) = node.entry("host").and_then(control_group) {
            let host = sidecar.host.get_or_insert_default();
            (host.cgroup_limit, host.cgroup_current) = (group.limit, group.current);
            host.cgroup_oom_kills = group.oom_kills;
        }
        sidecar
    }
}

/// The control group that counts, from the kernel's own words about all of them.
fn control_group<N: Node>(host: N) -> Option<Cgroup> {
    let noted = host.entry("cgroup")?;
    let files = noted.entry("files")?;
    cgroup::tightest(noted.entry("own")?.text()?, |name| Some(files.entry(name)?.text()?.to_owned()))
}

/// What a field of a sidecar can be.
pub(super) trait Field: Sized {
    /// How many of these are read of one list. Records and texts can be named many times by a small file.
    const MOST: usize = 256;

    /// Reads the value in this place. `None` where it is missing or of the wrong type, and has to be there. Texts may
    /// take `left` bytes, which is lowered.
    fn read<N: Node>(node: Option<N>, left: &mut usize) -> Option<Self>;

    /// Whether all that could be read is missing.
    fn is_empty(&self) -> bool {
        false
    }
}

/// Declares how values are read that have to be there.
macro_rules! plain {
    ($($type:ty: |$node:ident| $value:expr;)*) => { $(
        impl Field for $type {
            fn read<N: Node>($node: Option<N>, _: &mut usize) -> Option<$type> {
                let $node = $node?;
                $value
            }
        }
    )* };
}

plain! {
    u64: |node| node.integer();
    u32: |node| node.integer()?.try_into().ok();
    Bytes: |node| node.integer().filter(|n| *n <= MOST_BYTES).map(Bytes);
    Addr: |node| node.integer().map(Addr);
    // A share of a whole: no other number has a fraction.
    f64: |node| node.number().filter(|n| (0.0..=1.0).contains(n));
    (u32, u32): |node| Some((u32::read(node.item(0), &mut 0)?, u32::read(node.item(1), &mut 0)?));
}

impl Field for bool {
    fn read<N: Node>(node: Option<N>, _: &mut usize) -> Option<bool> {
        Some(node.and_then(Node::boolean).unwrap_or(false))
    }
}

impl Field for String {
    const MOST: usize = 4096;

    fn read<N: Node>(node: Option<N>, left: &mut usize) -> Option<String> {
        let node = node?;
        let text = node.text()?;
        *left = left.checked_sub(text.len())?;
        Some(text.to_owned())
    }
}

impl<T: Field> Field for Option<T> {
    fn read<N: Node>(node: Option<N>, left: &mut usize) -> Option<Option<T>> {
        Some(T::read(node, left).filter(|value| !value.is_empty()))
    }
}

/// The items that could be read.
impl<T: Field> Field for Vec<T> {
    fn read<N: Node>(node: Option<N>, left: &mut usize) -> Option<Vec<T>> {
        let count = node.map_or(0, Node::count).min(T::MOST);
        Some((0..count).filter_map(|index| T::read(node?.item(index), left)).collect())
    }
}

/// The value of a field, or what it is where it is missing, or nothing for the whole record.
macro_rules! value_or {
    ($value:expr) => {
        $value?
    };
    ($value:expr, $missing:expr) => {
        $value.unwrap_or($missing)
    };
}

/// Declares records that are dictionaries. A field stands under its own name, or under the key in parentheses; `..` is
/// the dictionary itself. After `=` stands the value of a field that is missing; without it the whole record counts as
/// missing, unless the field's type has an empty value.
macro_rules! dicts {
    ($(
        $(#[$meta:meta])*
        $name:ident { $($(#[$doc:meta])* $field:ident $(($($key:tt)+))?: $type:ty $(= $missing:expr)?,)* }
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Debug, Default, PartialEq)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl Field for $name {
            fn read<N: Node>(node: Option<N>, left: &mut usize) -> Option<$name> {
                Some($name { $($field: {
                    let value = Field::read(dicts!(@node node $field $(($($key)+))?), left);
                    value_or!(value $(, $missing)?)
                },)* })
            }

            fn is_empty(&self) -> bool {
                *self == $name::default()
            }
        }
    )* };
    (@node $node:ident $field:ident) => { $node.and_then(|node| node.entry(stringify!($field))) };
    (@node $node:ident $field:ident (..)) => { $node };
    (@node $node:ident $field:ident ($key:literal)) => { $node.and_then(|node| node.entry($key)) };
}

/// Declares records that are lists: their items are the fields, in this order. `=` as in [`dicts`].
macro_rules! lists {
    ($(
        $(#[$meta:meta])*
        $name:ident { $($(#[$doc:meta])* $field:ident: $type:ty $(= $missing:expr)?,)* }
    )*) => { $(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub struct $name { $($(#[$doc])* pub $field: $type,)* }

        impl Field for $name {
            const MOST: usize = usize::MAX;

            fn read<N: Node>(node: Option<N>, left: &mut usize) -> Option<$name> {
                let node = node?;
                let mut items = (0..).map(|index| node.item(index));
                Some($name { $($field: {
                    let value = Field::read(items.next().flatten(), left);
                    value_or!(value $(, $missing)?)
                },)* })
            }
        }
    )* };
}

/// Declares enums that a file states by name.
macro_rules! words {
    ($($(#[$meta:meta])* $enum:ident $variants:tt)*) => { $(
        named! { $(#[$meta])* $enum $variants }
        plain! { $enum: |node| $enum::from_name(node.text()?); }
    )* };
}

pub(super) use {dicts, lists, plain, value_or, words};

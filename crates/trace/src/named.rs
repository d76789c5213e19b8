//! Enums whose variants have names in files.

/// Declares an enum with the name of each variant, and `name` and `from_name`. After `|` stand older names.
#[macro_export]
macro_rules! named {
    (
        $(#[$meta:meta])*
        $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal $(| $older:literal)*,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $enum { $($(#[$doc])* $variant,)* }

        impl $enum {
            /// The name in files.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }

            /// The variant of this name.
            pub fn from_name(name: &str) -> Option<$enum> {
                match name { $($name $(| $older)* => Some($enum::$variant),)* _ => None }
            }
        }
    };
}

pub(crate) use named;

//! Enums whose variants have names, in files and in documents.

/// Declares an enum with the name of each variant, and `ALL`, `name` and `from_name`. After `|` stand older names.
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
            /// Every one, in their order.
            pub const ALL: &[$enum] = &[$($enum::$variant,)*];

            /// The name, as it is written.
            pub const fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }

            /// The variant of this name.
            pub fn from_name(name: &str) -> Option<$enum> {
                match name { $($name $(| $older)* => Some($enum::$variant),)* _ => None }
            }
        }

        impl serde::Serialize for $enum {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl schemars::JsonSchema for $enum {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($enum).into()
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({"type": "string", "enum": [$($name),*]})
            }
        }
    };
}

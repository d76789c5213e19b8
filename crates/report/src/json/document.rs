//! How a document is written down.

/// Parts of documents. Each is a type and the function that makes it; each field has its reference text, its name, its type
/// and where it comes from. `with` names what several fields are made of.
macro_rules! document {
    ($(
        $(#[$about:meta])*
        $vis:vis fn $make:ident($($from:ident: $source:ty),* $(,)?) -> $name:ident
        $(with ($($local:pat = $init:expr),* $(,)?))? {
            $($(#[$doc:meta])* $field:ident: $type:ty = $value:expr,)*
        }
    )*) => {$(
        $(#[$about])*
        #[derive(Clone, Debug, serde::Serialize, schemars::JsonSchema)]
        $vis struct $name {
            $($(#[$doc])* $field: $type,)*
        }

        $(#[$about])*
        $vis fn $make($($from: $source),*) -> $name {
            $($(let $local = $init;)*)?
            $name { $($field: $value,)* }
        }
    )*};
}

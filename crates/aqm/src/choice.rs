//! Choices between named alternatives.

/// Declares a choice between named alternatives, written in scenario files as a string.
#[cfg(feature = "catalog")]
#[macro_export]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[doc = $doc:literal])+ $variant:ident = $text:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
        pub enum $name { $( $(#[doc = $doc])+ #[serde(rename = $text)] $variant, )+ }

        impl<'de> serde::Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let choice = $crate::params::Choice { name: stringify!($name), texts: &[$( $text ),+] };
                deserializer.deserialize_enum(choice.name, choice.texts, choice).map(|at| [$( $name::$variant ),+][at])
            }
        }

        impl $crate::params::ParamValue for $name {
            fn show(&self) -> alloc::string::String {
                match self { $( $name::$variant => alloc::string::String::from($text), )+ }
            }

            fn choices() -> &'static [&'static str] {
                &[$( $text ),+]
            }
        }
    };
}

/// Declares the bare enum: without scenario files a choice needs no names.
#[cfg(not(feature = "catalog"))]
macro_rules! choice {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $( $(#[doc = $doc:literal])+ $variant:ident = $text:literal, )+ }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name { $( $(#[doc = $doc])+ $variant, )+ }
    };
}

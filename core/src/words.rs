//! Enums as tables: a row has a value and all that is told of it.

/// Defines an enum whose values have a text each:
/// `words! { pub enum Fault; /// The log is full. Full => "the log is full"; ... }`
#[cfg(any(feature = "sion", feature = "gsd", feature = "cdf"))]
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $Enum:ident;
        $( $(#[doc = $about:literal])+ $Value:ident => $text:literal; )+
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        #[cfg_attr(feature = "defmt", derive(defmt::Format))]
        pub enum $Enum {
            $( $(#[doc = $about])+ $Value, )+
        }

        impl core::fmt::Display for $Enum {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(match self {
                    $( Self::$Value => $text, )+
                })
            }
        }
    };
}

/// Defines an enum whose values have fields, and a text each: that of `write!`, or code with a
/// formatter. The packages of striae that allocate have their reasons and errors as such tables.
/// Fields whose names say it need no documentation of their own, as in tables of `errors`.
///
/// `texts! { #[derive(Debug)] pub enum Loss; /// It is cut. Cut { /// How many. len: u64 } =>
/// "{len} bytes are missing"; ... }`
#[doc(hidden)]
#[macro_export]
macro_rules! texts {
    (
        $(#[$meta:meta])*
        pub enum $Reason:ident;
        $(
            $(#[doc = $about:literal])+
            $Value:ident
            $({ $($(#[doc = $what:literal])* $field:ident: $type:ty),+ $(,)? })?
            $(($inner:ident: $inner_type:ty))?
            => $(|$f:ident| $code:block)? $($text:literal $(, $arg:expr)*)?;
        )+
    ) => {
        $(#[$meta])*
        pub enum $Reason {
            $(
                $(#[doc = $about])+
                $Value $({
                    $(#[doc = $crate::about!($field $($what)*)] $field: $type),+
                })? $(($inner_type))?,
            )+
        }

        impl core::fmt::Display for $Reason {
            #[allow(clippy::too_many_lines, reason = "a list: the text of each value")]
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                match self {
                    $(
                        #[allow(unused_variables, reason = "texts do not tell all that values do")]
                        Self::$Value $({ $($field),+ })? $(($inner))? => {
                            $(write!(f, $text $(, $arg)*))?
                            $({ let $f = f; $code })?
                        }
                    )+
                }
            }
        }
    };
}

/// Defines the types of values of a format, each with its number on disk, from 1 on, and its name:
/// `types! { pub enum Type: u8; /// Signed, 1 byte. 1: I8 => "int8"; ... }`
#[cfg(any(feature = "gsd", feature = "cdf"))]
macro_rules! types {
    (
        $(#[$meta:meta])*
        pub enum $Type:ident: $Number:ty;
        $( $(#[doc = $about:literal])+ $number:literal: $Value:ident => $name:literal; )+
    ) => {
        $crate::words::words! {
            $(#[$meta])*
            #[derive(Hash)]
            pub enum $Type;
            $( $(#[doc = $about])+ $Value => $name; )+
        }

        impl $Type {
            /// All types, in the order of their numbers from 1 on.
            pub const ALL: [Self; [$($number),+].len()] = [$(Self::$Value),+];

            /// The number on disk.
            #[must_use]
            pub const fn number(self) -> $Number {
                match self {
                    $( Self::$Value => $number, )+
                }
            }

            /// The name.
            #[must_use]
            pub const fn name(self) -> &'static str {
                match self {
                    $( Self::$Value => $name, )+
                }
            }
        }
    };
}

#[cfg(any(feature = "gsd", feature = "cdf"))]
pub(crate) use types;
#[cfg(any(feature = "sion", feature = "gsd", feature = "cdf"))]
pub(crate) use words;

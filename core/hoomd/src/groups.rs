//! The groups of a frame. Each quantity of a group is one row: what a frame in memory has, how it
//! is read from a file, and what is written, in the order of the rows, which is that of gsd.

use crate::element::Element;
use crate::frame::Frame;
use crate::schema::{self, Field, Topology};
use crate::source::Source;
use crate::value::Value;
use crate::values::Floats;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::slice::from_ref;

/// A field of the schema with its value.
pub(crate) type Entry<'a> = (&'static Field, Value<'a>);

/// Defines a group from its rows: a type in memory, and one that reads from a frame. A row has the
/// function of [`Frame`] that reads it, and its field of the schema.
macro_rules! group {
    (
        $(#[$of_data:meta])* $Data:ident;
        $(#[$of_view:meta])* $View:ident($($fields:ident: $Fields:ty)?);
        $(#[$of_n:meta])* n($members:expr, $n:expr);
        $($(#[$doc:meta])* $name:ident: $read:ident($field:expr) -> $T:ty;)+
    ) => {
        $(#[$of_data])*
        #[derive(Debug, Clone, PartialEq, Default)]
        pub struct $Data {
            $(#[$of_n])*
            pub n: u32,
            $($(#[$doc])* pub $name: Option<$T>,)+
        }

        $(#[$of_view])*
        #[derive(Debug)]
        pub struct $View<'a, F> {
            pub(crate) frame: &'a Frame<'a, F>,
            $(pub(crate) $fields: $Fields,)?
        }

        impl<F> Clone for $View<'_, F> {
            fn clone(&self) -> Self {
                *self
            }
        }

        impl<F> Copy for $View<'_, F> {}

        impl $Data {
            /// Adds all values that are set.
            pub(crate) fn values<'a>(&'a self, $($fields: $Fields,)? to: &mut Vec<Entry<'a>>) {
                to.push((&$n, Value::integers(from_ref(&self.n))));
                $(to.extend(self.$name.as_ref().map(|values| (&$field, $read(values))));)+
            }
        }

        impl<F: Source> $View<'_, F> {
            $(#[$of_n])*
            ///
            /// # Errors
            /// See [`Frame`].
            pub fn n(&self) -> Result<u32, F::Error> {
                $(let $fields = self.$fields;)?
                self.frame.members($members)
            }

            accessors!(($($fields)?) $($(#[$doc])* $name: $read($field) -> $T;)+);

            /// All values, including those from frame 0 and defaults.
            pub(crate) fn read(&self) -> Result<$Data, F::Error> {
                Ok($Data { n: self.n()?, $($name: Some(self.$name()?)),+ })
            }
        }
    };
}

/// Defines the functions that read the quantities of a group.
macro_rules! accessors {
    ($fields:tt $($(#[$doc:meta])* $name:ident: $read:ident($field:expr) -> $T:ty;)+) => { $(
        $(#[$doc])*
        ///
        /// # Errors
        /// See [`Frame`].
        pub fn $name(&self) -> Result<$T, F::Error> {
            bind!($fields self);
            self.frame.$read(&$field)
        }
    )+ };
}

/// Binds the field of that name, if there is one.
macro_rules! bind {
    (() $of:tt) => {};
    (($fields:ident) $of:tt) => {
        let $fields = $of.$fields;
    };
}

fn texts(texts: &[String]) -> Value<'_> {
    Value::Texts(Cow::Borrowed(texts))
}

fn numbers<T: Element>(values: &[T]) -> Value<'_> {
    Value::integers(values)
}

fn tags(tags: &[u32]) -> Value<'_> {
    Value::integers(tags)
}

const fn floats(values: &Floats) -> Value<'_> {
    Value::Floats(Cow::Borrowed(values))
}

group! {
    /// Particles in memory, `n` rows each.
    ///
    /// A later version may add fields: end a literal with `..Default::default()`.
    ParticleData;
    /// The particles of a [`Frame`]: all values are in the order of the particles' tags.
    Particles();
    /// Number of particles.
    n(schema::Group::Particles, schema::PARTICLES_N);
    /// Names of the types.
    types: texts(schema::TYPES) -> Vec<String>;
    /// Type number of each particle.
    typeid: numbers(schema::TYPEID) -> Vec<u32>;
    /// Masses.
    mass: floats(schema::MASS) -> Floats;
    /// Charges.
    charge: floats(schema::CHARGE) -> Floats;
    /// Diameters.
    diameter: floats(schema::DIAMETER) -> Floats;
    /// The body of each particle, or -1.
    body: numbers(schema::BODY) -> Vec<i32>;
    /// Moments of inertia, three per particle: Ixx, Iyy, Izz.
    moment_inertia: floats(schema::MOMENT_INERTIA) -> Floats;
    /// Positions: x, y, z of each particle.
    position: floats(schema::POSITION) -> Floats;
    /// Quaternions of the orientations: r, ax, ay, az of each particle.
    orientation: floats(schema::ORIENTATION) -> Floats;
    /// Velocities: three per particle.
    velocity: floats(schema::VELOCITY) -> Floats;
    /// Quaternions of the angular momenta: four per particle.
    angmom: floats(schema::ANGMOM) -> Floats;
    /// Box image of each particle (how often it has crossed the box): in x, y, z.
    image: numbers(schema::IMAGE) -> Vec<i32>;
    /// Shapes of the types, for drawing: the JSON that is in the file.
    type_shapes: texts(schema::TYPE_SHAPES) -> Vec<String>;
}

group! {
    /// Bonds, angles, dihedrals, impropers or special pairs in memory, `n` rows each.
    ///
    /// A later version may add fields: end a literal with `..Default::default()`.
    #[derive(Eq)]
    BondData;
    /// Bonds of a [`Frame`], or angles, dihedrals, impropers, special pairs.
    Bonds(fields: &'static Topology);
    /// Number of members.
    n(fields.members, fields.n);
    /// Names of their types.
    types: texts(fields.types) -> Vec<String>;
    /// Type number of each member.
    typeid: numbers(fields.typeid) -> Vec<u32>;
    /// Tags of the particles of each member: two, three or four.
    group: tags(fields.group) -> Vec<u32>;
}

group! {
    /// Constraints in memory, `n` rows each.
    ///
    /// A later version may add fields: end a literal with `..Default::default()`.
    ConstraintData;
    /// Constraints of a [`Frame`]: fixed distances of two particles.
    Constraints();
    /// Number of constraints.
    n(schema::Group::Constraints, schema::CONSTRAINTS_N);
    /// The distances.
    value: floats(schema::VALUE) -> Floats;
    /// Tags of the two particles of each constraint.
    group: tags(schema::CONSTRAINTS_GROUP) -> Vec<u32>;
}

impl<F> Bonds<'_, F> {
    /// Number of particles of each member.
    #[must_use]
    pub const fn columns(&self) -> u32 {
        self.fields.columns
    }
}

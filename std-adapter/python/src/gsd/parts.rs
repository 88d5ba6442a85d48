//! The attributes of a frame, and the chunks that they are in.

use std::sync::LazyLock;
use striae::striae_core::gsd::Chunk;
use striae::striae_hoomd::schema::{self, Field, Topology};
use striae::striae_hoomd::{NameList, Source};

/// An attribute of a frame in Python with attributes of its own, such as `particles`.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) class: Class,
    /// Its attributes, in the order in which gsd writes them.
    pub(super) attributes: Vec<Attribute>,
}

/// The Python class of a part.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Configuration,
    Particles,
    /// With this number of particles in each member.
    Bonds(u32),
    Constraints,
}

/// An attribute in Python.
#[derive(Debug)]
pub(super) struct Attribute {
    pub(super) name: &'static str,
    pub(super) field: &'static Field,
    pub(super) form: Form,
    /// Its place among the attributes of all parts.
    pub(super) place: usize,
}

/// What an attribute is in Python.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The number of members, a scalar.
    Count,
    /// A scalar.
    Scalar,
    /// An array that each frame has for itself.
    Box,
    /// A list of names.
    Types,
    /// A list of what JSON says.
    Shapes,
    /// An array.
    Array,
}

/// All parts, in the order in which gsd writes them.
pub(super) static PARTS: LazyLock<Vec<Part>> = LazyLock::new(|| {
    let bonds = |name, fields: &'static Topology| {
        let class = Class::Bonds(fields.columns);
        let fields = [&fields.n, &fields.types, &fields.typeid, &fields.group];
        (name, class, fields.to_vec())
    };
    let configuration = vec![&schema::STEP, &schema::DIMENSIONS, &schema::BOX];
    let particles = vec![
        &schema::PARTICLES_N,
        &schema::TYPES,
        &schema::TYPEID,
        &schema::MASS,
        &schema::CHARGE,
        &schema::DIAMETER,
        &schema::BODY,
        &schema::MOMENT_INERTIA,
        &schema::POSITION,
        &schema::ORIENTATION,
        &schema::VELOCITY,
        &schema::ANGMOM,
        &schema::IMAGE,
        &schema::TYPE_SHAPES,
    ];
    let constraints = vec![&schema::CONSTRAINTS_N, &schema::VALUE, &schema::CONSTRAINTS_GROUP];
    let parts = [
        ("configuration", Class::Configuration, configuration),
        ("particles", Class::Particles, particles),
        bonds("bonds", &schema::BONDS),
        bonds("angles", &schema::ANGLES),
        bonds("dihedrals", &schema::DIHEDRALS),
        bonds("impropers", &schema::IMPROPERS),
        ("constraints", Class::Constraints, constraints),
        bonds("pairs", &schema::PAIRS),
    ];
    let mut places = 0..;
    parts.map(|(name, class, fields)| Part::new(name, class, fields, &mut places)).into()
});

/// Number of attributes of all parts.
pub(super) static ATTRIBUTES: LazyLock<usize> =
    LazyLock::new(|| PARTS.iter().map(|part| part.attributes.len()).sum());

impl Part {
    fn new(
        name: &'static str,
        class: Class,
        fields: Vec<&'static Field>,
        places: &mut impl Iterator<Item = usize>,
    ) -> Self {
        let attributes = fields.into_iter().zip(places).map(|(field, place)| {
            let name = field.name.rsplit('/').next().unwrap_or(field.name);
            Attribute { name, field, form: Form::of(name), place }
        });
        Self { name, class, attributes: attributes.collect() }
    }
}

impl Form {
    fn of(name: &str) -> Self {
        match name {
            "N" => Self::Count,
            "step" | "dimensions" => Self::Scalar,
            "box" => Self::Box,
            "types" => Self::Types,
            "type_shapes" => Self::Shapes,
            _ => Self::Array,
        }
    }
}

/// What the chunks of a name are for a frame.
#[derive(Debug, Clone, Copy)]
enum Role {
    /// The attribute at this place.
    Attribute(usize),
    /// A logged quantity.
    Log,
    Other,
}

/// What the names of a file are for a frame.
#[derive(Debug)]
pub(super) struct Roles {
    by_id: Vec<Role>,
    /// Ids and names, without `log/`, of logged quantities.
    pub(super) logs: Vec<(u16, String)>,
}

impl Roles {
    pub(super) fn of(names: &NameList) -> Self {
        let attributes = || PARTS.iter().flat_map(|part| &part.attributes);
        let mut roles = Self { by_id: Vec::new(), logs: Vec::new() };
        for (name, id) in names.iter().zip(0..) {
            let name = name.as_bytes();
            let role = if names.id(name) != Some(id) {
                Role::Other // of equal names, the first one counts
            } else if let Some(log) = name.strip_prefix(b"log/") {
                roles.logs.push((id, String::from_utf8_lossy(log).into_owned()));
                Role::Log
            } else {
                let found = attributes().find(|of| of.field.name.as_bytes() == name);
                found.map_or(Role::Other, |of| Role::Attribute(of.place))
            };
            roles.by_id.push(role);
        }
        roles
    }
}

/// The chunks of a frame, by what they are for it.
#[derive(Debug)]
pub(super) struct Own {
    /// By the place of the attribute.
    pub(super) attributes: Vec<Option<Chunk>>,
    /// Of logged quantities, in the order of their ids.
    pub(super) logs: Vec<Chunk>,
}

impl Own {
    /// Those of a frame without chunks.
    pub(super) fn none() -> Self {
        Self { attributes: vec![None; *ATTRIBUTES], logs: Vec::new() }
    }

    /// Of several chunks of a name in layer 2, the first one counts (`spec/gsd.md#index-entry`);
    /// `chunks` of layer 1 has the last one only.
    pub(super) fn of(chunks: &[Chunk], roles: &Roles) -> Self {
        let mut own = Self::none();
        for chunk in chunks {
            match roles.by_id.get(usize::from(chunk.id)) {
                Some(&Role::Attribute(place)) => {
                    if let Some(slot) = own.attributes.get_mut(place) {
                        slot.get_or_insert(*chunk);
                    }
                }
                Some(Role::Log) if own.logs.last().is_none_or(|last| last.id != chunk.id) => {
                    own.logs.push(*chunk);
                }
                _ => {}
            }
        }
        own
    }
}

/// The roles of the names of a file.
pub(super) fn roles<F: Source>(file: &F) -> Result<Roles, F::Error> {
    Ok(Roles::of(file.names()?))
}

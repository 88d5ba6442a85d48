//! Random frames, and what a reader must see of them.

use proptest::prelude::*;
use striae::gsd::hoomd::{
    BondData, ConfigurationData, ConstraintData, Floats, FrameData, ParticleData, Precision,
    Quantity, Values,
};

// ---- random frames ----

fn floats(count: usize) -> BoxedStrategy<Floats> {
    let value = prop_oneof![
        3 => Just(0.0),
        1 => Just(1.0),
        1 => any::<f32>().prop_map(f64::from),
        1 => any::<f64>(),
    ];
    let values = prop_oneof![
        prop::collection::vec(value, count),
        Just(vec![0.0; count]),
        Just(vec![1.0; count]),
    ];
    (values, any::<bool>())
        .prop_map(|(values, is_double)| match is_double {
            true => Floats::F64(values),
            false => Floats::F64(values).into_precision(Precision::Single),
        })
        .boxed()
}

fn integers<T: std::fmt::Debug + Clone + 'static>(
    count: usize,
    low: T,
    other: T,
) -> BoxedStrategy<Vec<T>> {
    let value = prop_oneof![4 => Just(low), 1 => Just(other)];
    prop::collection::vec(value, count).boxed()
}

fn texts() -> BoxedStrategy<Vec<String>> {
    let names = vec!["A".to_owned(), "B".into(), "\u{e4}".into(), String::new(), "{}".into()];
    prop::sample::subsequence(names, 0..4).boxed()
}

fn maybe<T: std::fmt::Debug + Clone + 'static>(
    values: BoxedStrategy<T>,
) -> BoxedStrategy<Option<T>> {
    prop::option::weighted(0.6, values).boxed()
}

fn count() -> BoxedStrategy<u32> {
    prop_oneof![Just(0_u32), Just(1), Just(3)].boxed()
}

fn particles() -> BoxedStrategy<ParticleData> {
    let made = count().prop_flat_map(|n| {
        let len = n as usize;
        let names = (maybe(texts()), maybe(texts()));
        let scalars = [(); 3].map(|()| maybe(floats(len)));
        let vectors = [(); 3].map(|()| maybe(floats(3 * len)));
        let quaternions = [(); 2].map(|()| maybe(floats(4 * len)));
        let numbers = (
            maybe(integers(len, 0_u32, 7)),
            maybe(integers(len, -1, 2)),
            maybe(integers(3 * len, 0, i32::MIN)),
        );
        (Just(n), names, scalars, vectors, quaternions, numbers)
    });
    made.prop_map(|(n, (types, type_shapes), scalars, vectors, quaternions, numbers)| {
        let [mass, charge, diameter] = scalars;
        let [moment_inertia, position, velocity] = vectors;
        let [orientation, angmom] = quaternions;
        let (typeid, body, image) = numbers;
        ParticleData {
            n,
            types,
            typeid,
            type_shapes,
            mass,
            charge,
            diameter,
            body,
            moment_inertia,
            position,
            orientation,
            velocity,
            angmom,
            image,
        }
    })
    .boxed()
}

fn bonds(columns: usize) -> BoxedStrategy<BondData> {
    let made = count().prop_flat_map(move |n| {
        let len = n as usize;
        let numbers = (maybe(integers(len, 0_u32, 1)), maybe(integers(columns * len, 0, u32::MAX)));
        (Just(n), maybe(texts()), numbers)
    });
    made.prop_map(|(n, types, (typeid, group))| BondData { n, types, typeid, group }).boxed()
}

fn constraints() -> BoxedStrategy<ConstraintData> {
    let made = count().prop_flat_map(|n| {
        let len = n as usize;
        (Just(n), maybe(floats(len)), maybe(integers(2 * len, 0_u32, 5)))
    });
    made.prop_map(|(n, value, group)| ConstraintData { n, value, group }).boxed()
}

fn quantity(name: &str) -> BoxedStrategy<Quantity> {
    match name {
        "text" => "[a-z]{0,5}".prop_map(Quantity::text).boxed(),
        "energy" => any::<f64>().prop_map(|value| Quantity::rows(vec![value], 1)).boxed(),
        _ => any::<[i16; 6]>().prop_map(|values| Quantity::rows(values.to_vec(), 3)).boxed(),
    }
}

fn frame(logs: &'static [&'static str], is_first: bool) -> BoxedStrategy<FrameData> {
    let configuration = (
        maybe(any::<u64>().boxed()),
        maybe(prop_oneof![Just(2_u8), Just(3)].boxed()),
        maybe(any::<[f64; 6]>().boxed()),
    );
    let log: Vec<_> = logs
        .iter()
        .map(|&name| {
            let quantity = quantity(name);
            let quantity = match is_first {
                true => quantity.prop_map(Some).boxed(),
                false => prop::option::of(quantity).boxed(),
            };
            quantity.prop_map(move |quantity| Some((name.to_owned(), quantity?)))
        })
        .collect();
    let configuration = configuration.prop_map(|(step, dimensions, box_)| ConfigurationData {
        step,
        dimensions,
        box_,
    });
    let bonds = [2, 3, 4, 4, 2].map(bonds);
    (configuration, particles(), bonds, constraints(), log)
        .prop_map(|(configuration, particles, bonds, constraints, log)| {
            let [bonds, angles, dihedrals, impropers, pairs] = bonds;
            let log = log.into_iter().flatten().collect();
            FrameData {
                configuration,
                particles,
                bonds,
                angles,
                dihedrals,
                impropers,
                constraints,
                pairs,
                log,
            }
        })
        .boxed()
}

/// Frames of one file: later ones are often as the first, or take much from it.
pub(crate) fn frames() -> impl Strategy<Value = Vec<FrameData>> {
    const LOGS: &[&str] = &["energy", "text", "x/y"];
    let logs = (0..=LOGS.len()).prop_map(|len| &LOGS[..len]);
    logs.prop_flat_map(|logs| {
        let later = prop::collection::vec((frame(logs, false), 0..4), 0..5);
        (frame(logs, true), later).prop_map(|(first, later)| {
            let mut frames = vec![first];
            for (mut frame, of_first) in later {
                let first = &frames[0];
                match of_first {
                    0 => frame.particles = first.particles.clone(),
                    1 => {
                        (frame.bonds, frame.constraints) =
                            (first.bonds.clone(), first.constraints.clone())
                    }
                    2 => frame = first.clone(),
                    _ => {}
                }
                frames.push(frame);
            }
            frames
        })
    })
}

// ---- what a reader must see ----

/// What `frame` leaves out, from frame 0 or from the defaults.
pub(crate) fn filled(
    frame: &FrameData,
    first: Option<&FrameData>,
    precision: Precision,
) -> FrameData {
    let mut full = frame.clone();
    let given = first.map(|first| &first.configuration);
    let of = &mut full.configuration;
    of.step = of.step.or(given.map_or(Some(0), |given| given.step));
    of.dimensions = of.dimensions.or(given.map_or(Some(3), |given| given.dimensions));
    let first_box = given.map(|given| given.box_.map(|box_| Floats::F64(box_.to_vec())));
    let round = |box_: [f64; 6]| -> [f64; 6] {
        let floats = rounded(Floats::F64(box_.to_vec()), first_box.as_ref(), precision);
        floats.into_f64().try_into().unwrap()
    };
    let unit = [1.0, 1.0, 1.0, 0.0, 0.0, 0.0];
    of.box_ = of.box_.map(round).or(given.map_or(Some(unit), |given| given.box_));

    let (of, given) = (&mut full.particles, first.map(|first| &first.particles));
    let alike = given.filter(|given| given.n == of.n);
    let n = of.n as usize;
    of.types =
        of.types.take().or_else(|| given.map_or(Some(vec!["A".into()]), |of| of.types.clone()));
    let shapes = given.map_or(Some(vec!["{}".into()]), |of| of.type_shapes.clone());
    of.type_shapes = of.type_shapes.take().or(shapes);
    let number = |row: &[f32]| Floats::F32(row.repeat(n));
    let fill = |to: &mut Option<Floats>, given: Option<Option<Floats>>, row: &[f32]| {
        let own = to.take().map(|own| rounded(own, given.as_ref(), precision));
        *to = own.or_else(|| given.unwrap_or_else(|| Some(number(row))));
    };
    fill(&mut of.mass, alike.map(|of| of.mass.clone()), &[1.0]);
    fill(&mut of.charge, alike.map(|of| of.charge.clone()), &[0.0]);
    fill(&mut of.diameter, alike.map(|of| of.diameter.clone()), &[1.0]);
    fill(&mut of.moment_inertia, alike.map(|of| of.moment_inertia.clone()), &[0.0; 3]);
    fill(&mut of.position, alike.map(|of| of.position.clone()), &[0.0; 3]);
    fill(&mut of.orientation, alike.map(|of| of.orientation.clone()), &[1.0, 0.0, 0.0, 0.0]);
    fill(&mut of.velocity, alike.map(|of| of.velocity.clone()), &[0.0; 3]);
    fill(&mut of.angmom, alike.map(|of| of.angmom.clone()), &[0.0; 4]);
    of.typeid = of.typeid.take().or_else(|| alike.map_or(Some(vec![0; n]), |of| of.typeid.clone()));
    of.body = of.body.take().or_else(|| alike.map_or(Some(vec![-1; n]), |of| of.body.clone()));
    of.image =
        of.image.take().or_else(|| alike.map_or(Some(vec![0; 3 * n]), |of| of.image.clone()));

    fill_bonds(&mut full.bonds, first.map(|first| &first.bonds), 2);
    fill_bonds(&mut full.angles, first.map(|first| &first.angles), 3);
    fill_bonds(&mut full.dihedrals, first.map(|first| &first.dihedrals), 4);
    fill_bonds(&mut full.impropers, first.map(|first| &first.impropers), 4);
    fill_bonds(&mut full.pairs, first.map(|first| &first.pairs), 2);

    let (of, given) = (&mut full.constraints, first.map(|first| &first.constraints));
    let alike = given.filter(|given| given.n == of.n);
    let n = of.n as usize;
    let given_value = alike.map(|of| of.value.clone());
    let value = of.value.take().map(|own| rounded(own, given_value.as_ref(), precision));
    let default = || Some(Floats::F32(vec![0.0; n]));
    of.value = value.or_else(|| alike.map_or_else(default, |of| of.value.clone()));
    of.group =
        of.group.take().or_else(|| alike.map_or(Some(vec![0; 2 * n]), |of| of.group.clone()));

    for (name, quantity) in first.map_or(&[][..], |first| &first.log) {
        if !full.log.iter().any(|(own, _)| own == name) {
            full.log.push((name.clone(), quantity.clone()));
        }
    }
    full.log.sort_by(|one, other| one.0.cmp(&other.0));
    full
}

/// Numbers as they are written: frame 0's stay as they are there.
fn rounded(own: Floats, given: Option<&Option<Floats>>, precision: Precision) -> Floats {
    let bits = |floats: &Floats| {
        floats.clone().into_f64().into_iter().map(f64::to_bits).collect::<Vec<_>>()
    };
    let is_given = given.is_some_and(|given| bits(given.as_ref().unwrap()) == bits(&own));
    if is_given { own } else { own.into_precision(precision) }
}

fn fill_bonds(of: &mut BondData, given: Option<&BondData>, columns: usize) {
    let alike = given.filter(|given| given.n == of.n);
    let n = of.n as usize;
    of.types = of.types.take().or_else(|| given.map_or(Some(Vec::new()), |of| of.types.clone()));
    of.typeid = of.typeid.take().or_else(|| alike.map_or(Some(vec![0; n]), |of| of.typeid.clone()));
    let zeros = vec![0; columns * n];
    of.group = of.group.take().or_else(|| alike.map_or(Some(zeros), |of| of.group.clone()));
}

/// All numbers as bits, so that -0.0 is not 0.0 and a NaN is itself; widened, as values that equal
/// frame 0's or the default have the precision of those.
pub(crate) fn bits(frame: &FrameData) -> String {
    fn of(floats: &mut Option<Floats>) {
        let values = floats.take().unwrap().into_f64();
        let values =
            values.into_iter().map(|value| f64::from_bits(value.to_bits() & !payload(value)));
        *floats = Some(Floats::F64(values.collect()));
    }
    /// Which NaN it is may change with the precision.
    fn payload(value: f64) -> u64 {
        if value.is_nan() { 0x0007_ffff_ffff_ffff } else { 0 }
    }
    let mut frame = frame.clone();
    let particles = &mut frame.particles;
    for floats in [
        &mut particles.mass,
        &mut particles.charge,
        &mut particles.diameter,
        &mut particles.moment_inertia,
        &mut particles.position,
        &mut particles.orientation,
        &mut particles.velocity,
        &mut particles.angmom,
        &mut frame.constraints.value,
    ] {
        of(floats);
    }
    frame.log.sort_by(|one, other| one.0.cmp(&other.0));
    for (_, quantity) in &mut frame.log {
        if let Values::Text(texts) = &quantity.values {
            quantity.n = texts[0].len().max(1) as u64; // an empty text has a NUL
        }
    }
    format!("{frame:?}") // says -0.0 and NaN, and all digits
}

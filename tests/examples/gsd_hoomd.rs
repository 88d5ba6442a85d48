//! Reads and writes trajectories for tests/interop/gsd_hoomd.py, which says what its JSON looks
//! like.
//!
//!     gsd_hoomd read FILE
//!     gsd_hoomd logs FILE PATTERN [scalars]
//!     gsd_hoomd write FILE create single|double 1.4|2.0|old     frames on stdin
//!     gsd_hoomd write FILE append single|double
//!     gsd_hoomd part FILE NEW START END STEP
#![allow(
    clippy::arithmetic_side_effects,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a test: a panic fails it"
)]

use serde_json::{Map, Value, json};
use std::num::NonZeroU64;
use striae::gsd::convert::Convert;
use striae::gsd::hoomd::{
    BondData, Builder, ConfigurationData, ConstraintData, Floats, FrameData, ParticleData,
    Precision, Quantity, Series, Trajectory, Values, Writer,
};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match args[..] {
        ["read", path] => println!("{}", read(path)),
        ["logs", path, pattern, ref rest @ ..] => {
            println!("{}", logs(path, pattern, !rest.is_empty()))
        }
        ["write", path, "create", precision, version] => {
            let old = striae_core::gsd::Version { major: 1, minor: 0 }; // of the file layer
            let file = striae::gsd::Builder::new().force(true);
            let file = if version == "old" { file.layer(old) } else { file };
            let builder = Builder::new().file(file).precision(precision_of(precision));
            let builder = if version == "2.0" { builder } else { builder.version_1() };
            write(builder.create(path).unwrap());
        }
        ["write", path, "append", precision] => {
            write(Writer::reopen(path, precision_of(precision)).unwrap());
        }
        ["part", path, new, start, end, step] => {
            let [start, end, step] = [start, end, step].map(|text| text.parse().unwrap());
            let convert = Convert::new().frames(start..end, NonZeroU64::new(step).unwrap());
            let file = striae::gsd::File::open(path).unwrap();
            convert
                .output(striae::Output::new().force(true))
                .run(&file, new.as_ref(), &|_| {})
                .unwrap();
        }
        _ => panic!("{args:?}"),
    }
}

fn precision_of(name: &str) -> Precision {
    match name {
        "single" => Precision::Single,
        "double" => Precision::Double,
        _ => panic!("{name}"),
    }
}

// ---- reading ----

fn read(path: &str) -> Value {
    let trajectory = Trajectory::open(path).unwrap();
    let mut frames = Vec::new();
    for frame in trajectory.frames(..) {
        let frame = frame.unwrap();
        let mut shown = shown_frame(&frame.read().unwrap());
        let state = frame.state_names().unwrap().into_iter().map(|name| {
            let quantity = frame.state(name.0).unwrap().unwrap();
            (name.to_string(), shown_quantity(&quantity))
        });
        shown["state"] = Value::Object(state.collect());
        frames.push(shown);
    }
    json!({ "version": trajectory.schema_version().to_string(), "frames": frames })
}

fn logs(path: &str, pattern: &str, scalars: bool) -> Value {
    let trajectory = Trajectory::open(path).unwrap();
    let logs = trajectory.logs().matching(pattern);
    let logs = if scalars { logs.scalars() } else { logs };
    let shown = logs.read().unwrap().into_iter().map(|Series { name, quantity, .. }| {
        let mut shown = shown_quantity(&quantity);
        for name in ["N", "M"] {
            shown.as_object_mut().unwrap().remove(name);
        }
        (name, shown)
    });
    Value::Object(shown.collect())
}

fn shown_frame(frame: &FrameData) -> Value {
    let ConfigurationData { step, dimensions, box_ } = &frame.configuration;
    let box_ = shown_floats(&Floats::F64(box_.unwrap().to_vec()))["values"].clone();
    let particles = &frame.particles;
    let mut shown = json!({
        "configuration": { "step": step, "dimensions": dimensions, "box": box_ },
        "particles": {
            "N": particles.n,
            "types": particles.types,
            "typeid": particles.typeid,
            "type_shapes": particles.type_shapes,
            "body": particles.body,
            "image": particles.image,
        },
        "constraints": {
            "N": frame.constraints.n,
            "value": shown_floats(frame.constraints.value.as_ref().unwrap()),
            "group": frame.constraints.group,
        },
        "log": frame.log.iter().map(|(name, quantity)| (name.clone(), shown_quantity(quantity)))
            .collect::<Map<_, _>>(),
    });
    for (name, floats) in [
        ("mass", &particles.mass),
        ("charge", &particles.charge),
        ("diameter", &particles.diameter),
        ("moment_inertia", &particles.moment_inertia),
        ("position", &particles.position),
        ("orientation", &particles.orientation),
        ("velocity", &particles.velocity),
        ("angmom", &particles.angmom),
    ] {
        shown["particles"][name] = shown_floats(floats.as_ref().unwrap());
    }
    for (name, bonds) in [
        ("bonds", &frame.bonds),
        ("angles", &frame.angles),
        ("dihedrals", &frame.dihedrals),
        ("impropers", &frame.impropers),
        ("pairs", &frame.pairs),
    ] {
        let BondData { n, types, typeid, group } = bonds;
        shown[name] = json!({ "N": n, "types": types, "typeid": typeid, "group": group });
    }
    shown
}

fn shown_floats(floats: &Floats) -> Value {
    let kind = match floats.precision() {
        Precision::Single => "float32",
        Precision::Double => "float64",
    };
    let values = floats.clone().into_f64().into_iter().map(|value| value.to_string());
    json!({ "type": kind, "values": values.collect::<Vec<_>>() })
}

fn shown_quantity(quantity: &Quantity) -> Value {
    let Quantity { n, m, values } = quantity;
    let shown = match values {
        Values::U8(values) => json!(values),
        Values::U16(values) => json!(values),
        Values::U32(values) => json!(values),
        Values::U64(values) => json!(values),
        Values::I8(values) => json!(values),
        Values::I16(values) => json!(values),
        Values::I32(values) => json!(values),
        Values::I64(values) => json!(values),
        Values::F32(values) => shown_floats(&Floats::F32(values.clone()))["values"].clone(),
        Values::F64(values) => shown_floats(&Floats::F64(values.clone()))["values"].clone(),
        Values::Text(texts) => json!(texts),
    };
    json!({ "type": values.kind().name(), "N": n, "M": m, "values": shown })
}

// ---- writing ----

fn write(mut writer: Writer) {
    let frames: Vec<Value> = serde_json::from_reader(std::io::stdin()).unwrap();
    for frame in &frames {
        writer.append(&frame_of(frame)).unwrap();
    }
    writer.close().unwrap();
}

fn frame_of(frame: &Value) -> FrameData {
    let configuration = &frame["configuration"];
    let floats = |array: &Value| numbers(array).try_into().unwrap();
    FrameData {
        configuration: ConfigurationData {
            step: configuration["step"].as_u64(),
            dimensions: configuration["dimensions"].as_u64().map(|value| value.try_into().unwrap()),
            box_: given(&configuration["box"]).map(floats),
        },
        particles: particles_of(&frame["particles"]),
        bonds: bonds_of(&frame["bonds"]),
        angles: bonds_of(&frame["angles"]),
        dihedrals: bonds_of(&frame["dihedrals"]),
        impropers: bonds_of(&frame["impropers"]),
        constraints: ConstraintData {
            n: count_of(&frame["constraints"]),
            value: floats_of(&frame["constraints"]["value"]),
            group: integers(&frame["constraints"]["group"]),
        },
        pairs: bonds_of(&frame["pairs"]),
        log: frame["log"]
            .as_object()
            .unwrap()
            .iter()
            .map(|(name, quantity)| (name.clone(), quantity_of(quantity)))
            .collect(),
    }
}

fn particles_of(group: &Value) -> ParticleData {
    ParticleData {
        n: count_of(group),
        types: texts(&group["types"]),
        typeid: integers(&group["typeid"]),
        type_shapes: texts(&group["type_shapes"]),
        mass: floats_of(&group["mass"]),
        charge: floats_of(&group["charge"]),
        diameter: floats_of(&group["diameter"]),
        body: integers(&group["body"]),
        moment_inertia: floats_of(&group["moment_inertia"]),
        position: floats_of(&group["position"]),
        orientation: floats_of(&group["orientation"]),
        velocity: floats_of(&group["velocity"]),
        angmom: floats_of(&group["angmom"]),
        image: integers(&group["image"]),
    }
}

fn bonds_of(group: &Value) -> BondData {
    BondData {
        n: count_of(group),
        types: texts(&group["types"]),
        typeid: integers(&group["typeid"]),
        group: integers(&group["group"]),
    }
}

fn given(value: &Value) -> Option<&Value> {
    Some(value).filter(|value| !value.is_null())
}

fn count_of(group: &Value) -> u32 {
    group["N"].as_u64().unwrap().try_into().unwrap()
}

fn texts(array: &Value) -> Option<Vec<String>> {
    let text = |text: &Value| text.as_str().unwrap().to_owned();
    Some(given(array)?.as_array().unwrap().iter().map(text).collect())
}

fn integers<T: TryFrom<i64, Error: std::fmt::Debug>>(array: &Value) -> Option<Vec<T>> {
    let number = |number: &Value| number.as_i64().unwrap().try_into().unwrap();
    Some(given(array)?.as_array().unwrap().iter().map(number).collect())
}

/// Numbers that stand in the JSON as texts, as a number of JSON may lose a digit.
fn numbers(array: &Value) -> Vec<f64> {
    array.as_array().unwrap().iter().map(|text| text.as_str().unwrap().parse().unwrap()).collect()
}

fn floats_of(floats: &Value) -> Option<Floats> {
    let floats = given(floats)?;
    let values = Floats::F64(numbers(&floats["values"]));
    Some(match floats["type"].as_str().unwrap() {
        "float32" => values.into_precision(Precision::Single),
        "float64" => values,
        kind => panic!("{kind}"),
    })
}

fn quantity_of(quantity: &Value) -> Quantity {
    let values = &quantity["values"];
    let m = quantity["M"].as_u64().unwrap().try_into().unwrap();
    match quantity["type"].as_str().unwrap() {
        "character" => Quantity::text(values[0].as_str().unwrap()),
        "int64" => Quantity::rows(integers::<i64>(values).unwrap(), m),
        "uint8" => Quantity::rows(integers::<u8>(values).unwrap(), m),
        "float32" => Quantity::rows(Floats::F64(numbers(values)).into_f32(), m),
        "float64" => Quantity::rows(numbers(values), m),
        kind => panic!("{kind}"),
    }
}

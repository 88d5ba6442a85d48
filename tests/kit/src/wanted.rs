//! What gsd's package reads in golden files, and that striae reads the same.

use serde_json::{Value, json};
use std::fmt::Debug;
use std::path::Path;
use striae_hoomd::{Bonds, Floats, Frame, Name, Quantity, Source, Values};

/// What the package says of each file.
pub fn expected(golden_dir: &Path) -> Vec<(String, Value)> {
    let json = std::fs::read(golden_dir.join("hoomd.json")).unwrap();
    let files: Value = serde_json::from_slice(&json).unwrap();
    let files: Vec<_> = files
        .as_object()
        .unwrap()
        .iter()
        .map(|(name, file)| (name.clone(), file.clone()))
        .collect();
    assert_eq!(files.len(), 5);
    files
}

/// Numbers that stand in the JSON as texts, as a number of JSON may lose a digit.
fn numbers(texts: &Value) -> Vec<f64> {
    texts.as_array().unwrap().iter().map(|text| text.as_str().unwrap().parse().unwrap()).collect()
}

fn assert_floats(floats: &Floats, wanted: &Value) {
    let kind = match floats {
        Floats::F32(_) => "float32",
        Floats::F64(_) => "float64",
    };
    assert_eq!(kind, wanted["type"]);
    assert_eq!(floats.clone().into_f64(), numbers(&wanted["values"]));
}

pub fn assert_values(values: &Values, wanted: &Value) {
    assert_eq!(values.kind().name(), wanted["type"]);
    match values {
        Values::F32(values) => assert_floats(&Floats::F32(values.clone()), wanted),
        Values::F64(values) => assert_floats(&Floats::F64(values.clone()), wanted),
        Values::U64(values) => assert_eq!(json!(values), wanted["values"]),
        Values::Text(texts) => assert_eq!(json!(texts), wanted["values"]),
        values => panic!("{values:?}"),
    }
}

fn assert_quantity(quantity: &Quantity, wanted: &Value) {
    assert_values(&quantity.values, wanted);
    assert_eq!((json!(quantity.n), json!(quantity.m)), (wanted["N"].clone(), wanted["M"].clone()));
}

fn assert_bonds<F: Source<Error: Debug>>(bonds: Bonds<'_, F>, columns: u32, wanted: &Value) {
    assert_eq!(bonds.columns(), columns);
    assert_eq!(json!(bonds.n().unwrap()), wanted["N"]);
    assert_eq!(json!(bonds.types().unwrap()), wanted["types"]);
    assert_eq!(json!(bonds.typeid().unwrap()), wanted["typeid"]);
    assert_eq!(json!(bonds.group().unwrap()), wanted["group"]);
}

pub fn assert_frame<F: Source<Error: Debug>>(frame: &Frame<'_, F>, wanted: &Value) {
    let configuration = &wanted["configuration"];
    assert_eq!(frame.step().unwrap(), configuration["step"]);
    assert_eq!(frame.dimensions().unwrap(), configuration["dimensions"]);
    assert_eq!(frame.box_().unwrap().to_vec(), numbers(&configuration["box"]));

    let (particles, of) = (frame.particles(), &wanted["particles"]);
    assert_eq!(particles.n().unwrap(), of["N"]);
    assert_eq!(json!(particles.types().unwrap()), of["types"]);
    assert_eq!(json!(particles.typeid().unwrap()), of["typeid"]);
    assert_eq!(json!(particles.body().unwrap()), of["body"]);
    assert_eq!(json!(particles.image().unwrap()), of["image"]);
    let shapes = particles.type_shapes().unwrap();
    let shapes: Vec<Value> =
        shapes.iter().map(|text| serde_json::from_str(text).unwrap()).collect();
    assert_eq!(json!(shapes), of["type_shapes"]);
    for (floats, name) in [
        (particles.mass(), "mass"),
        (particles.charge(), "charge"),
        (particles.diameter(), "diameter"),
        (particles.moment_inertia(), "moment_inertia"),
        (particles.position(), "position"),
        (particles.orientation(), "orientation"),
        (particles.velocity(), "velocity"),
        (particles.angmom(), "angmom"),
    ] {
        assert_floats(&floats.unwrap(), &of[name]);
    }

    assert_bonds(frame.bonds(), 2, &wanted["bonds"]);
    assert_bonds(frame.angles(), 3, &wanted["angles"]);
    assert_bonds(frame.dihedrals(), 4, &wanted["dihedrals"]);
    assert_bonds(frame.impropers(), 4, &wanted["impropers"]);
    assert_bonds(frame.pairs(), 2, &wanted["pairs"]);
    let (constraints, of) = (frame.constraints(), &wanted["constraints"]);
    assert_eq!(constraints.n().unwrap(), of["N"]);
    assert_floats(&constraints.value().unwrap(), &of["value"]);
    assert_eq!(json!(constraints.group().unwrap()), of["group"]);

    let quantities = |wanted: &Value| wanted.as_object().unwrap().clone();
    let names = |names: Vec<Name<'_>>| {
        names.iter().map(|name| name.as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let (log, state) = (quantities(&wanted["log"]), quantities(&wanted["state"]));
    assert_eq!(sorted(names(frame.log_names().unwrap())), sorted(log.keys().cloned().collect()));
    assert_eq!(names(frame.state_names().unwrap()), state.keys().cloned().collect::<Vec<_>>());
    for (name, wanted) in log {
        assert_quantity(&frame.log(name).unwrap().unwrap(), &wanted);
    }
    for (name, wanted) in state {
        assert_quantity(&frame.state(name).unwrap().unwrap(), &wanted);
    }
    assert_eq!(frame.log("none").unwrap(), None);
    assert_eq!(frame.state("none").unwrap(), None);
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

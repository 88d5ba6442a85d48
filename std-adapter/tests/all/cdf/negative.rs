//! PnetCDF's own bad files, which are outside the repository.

use crate::run::striae;
use serde_json::Value;
use std::fs;
use std::path::Path;

/// What verify says of a file that ncvalidator refuses for this reason: the kind of a finding, and
/// its severity; `None` if it is not taken for a netCDF file.
fn expected(message: &str) -> Option<(&'static str, &'static str)> {
    let reasons = [
        ("format is unknown", None),
        ("padding is non-null", Some(("padding", "note"))),
        ("component tag", Some(("tag", "damage"))),
        ("Number of variables", Some(("too_large", "damage"))),
        ("NC_UNLIMITED dimension already found", Some(("two_record_dims", "damage"))),
        ("large", Some(("large", "damage"))),
    ];
    let reason = reasons.into_iter().find(|(text, _)| message.contains(text));
    reason.unwrap_or_else(|| panic!("{message}")).1
}

#[test]
fn bad_files_are_judged_as_ncvalidator_judges_them() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/corpus/blob");
    let Ok(manifest) = fs::read_to_string(corpus.join("manifest.json")) else {
        println!("skipped: {} is not there", corpus.display());
        return;
    };
    let manifest: Value = serde_json::from_str(&manifest).unwrap();
    let files = manifest["negative"].as_object().unwrap();
    assert!(files.len() > 20);
    for (name, file) in files {
        let path = corpus.join("negative").join(name);
        let path = path.to_str().unwrap();
        let run = striae(&["verify", "--json", path]).assert();
        let Some((kind, severity)) = expected(file["message"].as_str().unwrap()) else {
            run.code(if name.starts_with("bad_magic") { 2 } else { 1 }); // of no format
            continue;
        };
        let report: Value = serde_json::from_slice(&run.get_output().stdout).unwrap();
        let mut findings = report["findings"].as_array().unwrap().iter();
        let is_it = |found: &Value| found["kind"] == kind && found["severity"] == severity;
        assert!(findings.any(is_it), "{name}: {report}");
    }
}

//! The words of `recover`, which are the same in every format.

use super::*;

/// One file of each format that `recover` takes, sound, and one that is not.
fn inputs() -> Vec<(PathBuf, bool)> {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden");
    let files = [
        ("sion/s21_unclosed_keyval.sion", true),
        ("sion/s19_unclosed_flushed.sion", false),
        ("gsd/v21_sparse_chunks.gsd", true),
        ("gsd/bad_trunc_relocated_index.gsd", false),
        ("cdf/cdf1_onerec_short.nc", true),
        ("cdf_damaged/min1_begin_400M.nc", false),
        ("blob/f8_n10_s2/blob_h1.nc", true),
        ("blob/f8_n10_s2/blob_h1.h5.0001", false),
    ];
    files.into_iter().map(|(name, is_sound)| (golden.join(name), is_sound)).collect()
}

/// Every `word` of a report.
fn words<'j>(value: &'j Value, found: &mut Vec<&'j str>) {
    match value {
        Value::Object(fields) => {
            found.extend(fields.get("word").map(|word| word.as_str().unwrap()));
            fields.values().for_each(|value| words(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| words(value, found)),
        _ => {}
    }
}

#[test]
fn the_report_of_a_recovery_has_the_same_words_in_every_format() {
    let dir = tempfile::tempdir().unwrap();
    for (path, is_sound) in inputs() {
        let (mut path, out) = (path, dir.path().join("out"));
        if path.ends_with("blob_h1.h5.0001") {
            // A set without its first subfile.
            let part = dir.path().join("set.h5.0001");
            fs::copy(&path, &part).unwrap();
            path = dir.path().join("set.h5");
        }
        let [input, out] = [&path, &out].map(|path| path.to_str().unwrap());
        let run = striae(&["recover", "--force", input, out]).assert();
        assert_eq!(run.get_output().status.code(), Some(i32::from(!is_sound)), "{input}");
        let text = String::from_utf8(run.get_output().stdout.clone()).unwrap();
        assert!(text.lines().last().unwrap().contains("compared with checksums"), "{text}");
        let run = striae(&["recover", "--force", "--json", input, out]).assert();
        let report = json(&run.get_output().stdout);
        assert_eq!(report["sound"], is_sound, "{report}");
        let mut found = Vec::new();
        words(&report, &mut found);
        let all = ["exact", "as found", "guess", "lost"];
        assert!(found.iter().all(|word| all.contains(word)), "{report}");
        let worst = found.iter().map(|word| all.iter().position(|one| one == word).unwrap()).max();
        assert_eq!(report["word"], all[worst.unwrap()], "{report}");
        let counts = report["counts"].as_object().unwrap();
        assert!(counts.keys().all(|word| all.contains(&word.as_str())) && counts.len() == 4);
        let data = &report["data"];
        assert!(data["checked"].as_u64().unwrap() <= data["bytes"].as_u64().unwrap(), "{report}");
        assert!(report.get("result").is_none(), "{report}");
    }
}

//! Questions, and who answers them.
//!
//! A question is words: the verb, then what it needs. The first of them is mostly the number of a
//! file among those that were chosen.

use crate::address::Address;
use crate::file::{Named, Shelf, Store, Wrong};
use crate::format::{Format, subfile};
use crate::json::{Json, list, row};
use crate::picture::{self, View};
use crate::{blob, cdf, decomposition, dump, ffrecord, gsd, recover, sion, verify};
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use striae_core::sion::filename::Sibling;
use striae_core::span::Span;

/// Answers a question about files: `{"answer": ..}`, or `{"error": ..}`. What `recover` writes goes
/// to `shelf`.
pub fn answer<S: Store, O: Shelf>(files: &[Named<S>], words: &[&str], shelf: &mut O) -> Json {
    match answered(files, words, shelf) {
        Ok(answer) => row().with("answer", answer),
        Err(wrong) => row().with("error", wrong.to_string()),
    }
}

fn answered<S: Store, O: Shelf>(
    files: &[Named<S>],
    words: &[&str],
    shelf: &mut O,
) -> Result<Json, Wrong> {
    match words {
        ["files"] => return Ok(list(files.iter().map(|file| of_file(files, file)))),
        ["legend"] => return Ok(picture::legend()),
        ["tables"] => return Ok(picture::tables()),
        _ => {}
    }
    let no_question = || Wrong::new("the page", format!("no such question: {words:?}"));
    let [verb, number, rest @ ..] = words else { return Err(no_question()) };
    let number: usize = number.parse().map_err(|_| no_question())?;
    let file = files.get(number).ok_or_else(no_question)?;
    let numbers: Vec<u64> = rest.iter().map_while(|word| word.parse().ok()).collect();
    let format = Format::of(file)?;
    match (*verb, numbers.as_slice()) {
        ("info", []) => info(files, file, format),
        ("ls", [from, count]) => ls(files, file, format, (*from, *count)),
        ("verify", [limit]) => verify::verify((files, file), format, *limit),
        ("dump", [from, count]) => dump::dump(file, format, (*from, *count)),
        ("map" | "regions", &[start, end, most]) => {
            let is_of_regions = *verb == "regions";
            picture::map(file, format, View { start, end, most, is_of_regions })
        }
        ("recover", []) => recover::recover((files, file), format, shelf),
        ("places", []) => match rest {
            [address] => places(files, file, format, address),
            _ => Err(no_question()),
        },
        _ => Err(no_question()),
    }
}

/// A file: its format, and its set.
fn of_file<S: Store>(files: &[Named<S>], file: &Named<S>) -> Json {
    let bytes = file.store.size().ok();
    let shown = row().with("name", file.name.as_str()).with("bytes", bytes);
    match Format::of(file) {
        Err(wrong) => shown.with("error", wrong.to_string()),
        Ok(format) => {
            let set = match format {
                Format::Sion => set_of(files, &file.name),
                Format::Blob => subfile(&file.name).map(|(base, _)| base),
                _ => None,
            };
            shown.with("format", format.name()).with_some("set", set)
        }
    }
}

/// The name of the SIONlib set of which this is a later file, if its first file was chosen, too.
fn set_of<'a, S: Store>(files: &'a [Named<S>], name: &str) -> Option<&'a str> {
    let suffix = Sibling::of_name(name).to_string();
    let base = name.strip_suffix(suffix.as_str())?;
    files.iter().find(|file| file.name == base).map(|file| file.name.as_str())
}

fn info<S: Store>(files: &[Named<S>], file: &Named<S>, format: Format) -> Result<Json, Wrong> {
    match format {
        Format::Sion => sion::info(files, file),
        Format::Gsd => gsd::info(file),
        Format::Ffrecord => ffrecord::info(file),
        Format::Cdf => cdf::info(file),
        Format::Blob => blob::info(files, file),
        Format::Map => decomposition::info(file),
    }
}

fn ls<S: Store>(
    files: &[Named<S>],
    file: &Named<S>,
    format: Format,
    part: (u64, u64),
) -> Result<Json, Wrong> {
    match format {
        Format::Sion => sion::ls(files, file, part),
        Format::Gsd => gsd::ls(file, part),
        Format::Ffrecord => ffrecord::ls(file, part),
        Format::Cdf => cdf::ls(file, part),
        Format::Blob => blob::ls(files, file, part),
        Format::Map => decomposition::ls(file),
    }
}

/// Where the bytes of an address are: the number of a file, and spans in it.
fn places<S: Store>(
    files: &[Named<S>],
    file: &Named<S>,
    format: Format,
    address: &str,
) -> Result<Json, Wrong> {
    let none = || Wrong::new(&file.name, format!("{address}: is no address of this page"));
    let parsed = Address::parse(address).ok_or_else(none)?;
    let (holder, spans) = match (format, parsed) {
        (Format::Sion, Address::Task(task, chunk)) => sion::places((files, file), task, chunk)?,
        (Format::Gsd, Address::Chunk(frame, name)) => (file, gsd::places(file, frame, &name)?),
        (Format::Ffrecord, Address::Sample(number)) => (file, ffrecord::places(file, number)?),
        (Format::Cdf, Address::Variable(name)) => (file, cdf::places(file, &name)?),
        _ => return Err(none()),
    };
    let number = files.iter().position(|file| core::ptr::eq(file, holder)); // names may be equal
    let damage = match Address::parse(address) {
        Some(Address::Sample(number)) => ffrecord::damage(file, number)?,
        _ => None,
    };
    let span = |span: &Span| list([span.offset(), span.len()]);
    Ok(row()
        .with("file", number)
        .with("spans", list(spans.iter().map(span)))
        .with_some("damage", damage))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use alloc::{format, vec};
    use striae_kit::growing::Growing;

    struct Files;

    impl Shelf for Files {
        type File = Growing;

        fn create(&mut self, _: &str) -> Growing {
            Growing::default()
        }
    }

    fn ask(files: &[Named<&[u8]>], words: &[&str]) -> String {
        answer(files, words, &mut Files).to_string()
    }

    fn golden(path: &str) -> Vec<u8> {
        let golden = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../tests/golden");
        std::fs::read(format!("{golden}/{path}")).unwrap()
    }

    /// Files of all formats, with the name of a file of a set where it matters.
    const GOLDEN: [&str; 7] = [
        "sion/s02_three_unequal_noncontig.sion",
        "gsd/v21_hoomd_full_single.gsd",
        "ffrecord/folder.ffr",
        "cdf/cdf5_alltypes.nc",
        "blob/f4_n4_s1/blob_h1.nc.0000",
        "hdf5/written_blob.h5",
        "map/z1.dat",
    ];

    const QUESTIONS: [&[&str]; 9] = [
        &["files"],
        &["info", "0"],
        &["ls", "0", "0", "100"],
        &["verify", "0", "100"],
        &["dump", "0", "0", "100"],
        &["map", "0", "0", "18446744073709551615", "50"],
        &["regions", "0", "100", "200", "50"],
        &["recover", "0"],
        &["places", "0", "task/0"],
    ];

    #[test]
    fn every_prefix_of_a_file_has_an_answer_to_every_question() {
        for path in GOLDEN {
            let bytes = golden(path);
            let name = path.rsplit('/').next().unwrap().to_string();
            let step = bytes.len().div_ceil(60);
            for len in (0..bytes.len()).step_by(step).chain([bytes.len()]) {
                let files = vec![Named { name: name.clone(), store: &bytes[..len] }];
                for words in QUESTIONS {
                    let answer = ask(&files, words);
                    let is_answer = answer.starts_with("{\"answer\":");
                    assert!(is_answer || answer.starts_with("{\"error\":\""), "{answer}");
                }
            }
            let files = vec![Named { name, store: &bytes[..] }];
            for words in QUESTIONS.into_iter().take(4) {
                let answer = ask(&files, words);
                assert_eq!(
                    answer.starts_with("{\"answer\":"),
                    path != "hdf5/written_blob.h5" || words == ["files"],
                    "{path} {words:?} {answer}"
                );
            }
        }
    }

    #[test]
    fn what_is_no_question_is_an_error() {
        let files = [Named { name: "a".to_string(), store: &b"sion"[..] }];
        let wrong: [&[&str]; 7] = [
            &[],
            &[""],
            &["info"],
            &["info", "x"],
            &["info", "1"],
            &["tell", "0"],
            &["ls", "0", "0"],
        ];
        for words in wrong {
            assert!(ask(&files, words).starts_with("{\"error\":\""), "{words:?}");
        }
    }

    #[test]
    fn the_places_of_a_stream_have_its_bytes() {
        let bytes = golden("ffrecord/one.ffr");
        let files = [Named { name: "one.ffr".to_string(), store: &bytes[..] }];
        // A header of 12 bytes, a checksum of 4 and an offset of 8: the sample is the rest.
        let len = bytes.len() - 24;
        let expected = format!("{{\"answer\":{{\"file\":0,\"spans\":[[24,{len}]]}}}}");
        assert_eq!(ask(&files, &["places", "0", "sample/0"]), expected);
        assert!(ask(&files, &["places", "0", "sample/1"]).starts_with("{\"error\":\""));
        assert!(ask(&files, &["places", "0", "task/0"]).contains("is no address of this page"));
    }

    #[test]
    fn the_places_of_a_variable_have_all_of_its_values_or_are_refused() {
        let (short, fixed) = (golden("cdf/cdf1_onerec_short.nc"), golden("cdf/cdf2_norec_utf8.nc"));
        let of = |bytes: &[u8], name: &str| {
            let files = [Named { name: "a.nc".to_string(), store: bytes }];
            ask(&files, &["places", "0", &format!("variable/{name}")])
        };
        let spans = |spans: &str| format!("{{\"answer\":{{\"file\":0,\"spans\":[{spans}]}}}}");
        assert_eq!(of(&short, "fix"), spans("[144,10]"));
        assert_eq!(of(&short, "r"), spans("[156,6],[162,6],[168,6],[174,6]"));
        assert_eq!(of(&fixed, "w"), spans("[196,16]"));
        assert_eq!(of(&fixed, "temp\u{e9}rature"), spans(""));
        for (bytes, name, needed) in [(&short, "fix", 154), (&short, "r", 180), (&fixed, "w", 212)]
        {
            assert!(of(&bytes[..needed], name).starts_with("{\"answer\":"), "{name}");
            assert!(of(&bytes[..needed - 1], name).starts_with("{\"error\":\"a.nc: "), "{name}");
        }
    }

    #[test]
    fn of_files_with_one_name_the_places_are_in_the_one_that_was_asked_about() {
        let (one, other) = (golden("ffrecord/one.ffr"), golden("ffrecord/folder.ffr"));
        let named = |store| Named { name: "a.ffr".to_string(), store };
        let files = [named(&one[..]), named(&other[..])];
        for number in ["0", "1"] {
            let answer = ask(&files, &["places", number, "sample/0"]);
            assert!(answer.starts_with(&format!("{{\"answer\":{{\"file\":{number},")), "{answer}");
        }
        let sion = golden("sion/s02_three_unequal_noncontig.sion");
        let named = |store| Named { name: "a.sion".to_string(), store };
        let answer = ask(&[named(&one[..]), named(&sion)], &["places", "1", "task/0"]);
        assert!(answer.starts_with("{\"answer\":{\"file\":1,"), "{answer}");
    }
}

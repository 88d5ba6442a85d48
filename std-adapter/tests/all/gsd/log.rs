//! `log`: logged quantities over frames.

use super::*;
use std::path::PathBuf;
use striae::gsd::hoomd::{FrameData, Quantity, Writer};
use tempfile::TempDir;

/// A trajectory of four frames with quantities of several types and shapes.
fn made() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run.gsd");
    let mut writer = Writer::create(&path).unwrap();
    for step in 0..4_u32 {
        let mut frame = FrameData::default();
        frame.configuration.step = Some(u64::from(step) * 10);
        let energy = if step == 2 { f64::NAN } else { f64::from(step) / 4.0 };
        frame.log.push(("md/energy".into(), Quantity::rows(vec![energy], 1)));
        frame.log.push(("md/<t>".into(), Quantity::rows(vec![0.1_f32], 1)));
        frame.log.push(("box".into(), Quantity::rows(vec![step, 7, 8, 9], 2)));
        if step != 3 {
            frame.log.push(("name".into(), Quantity::text(format!("a, \"{step}\""))));
        }
        writer.append(&frame).unwrap();
    }
    writer.close().unwrap();
    (folder, path)
}

#[test]
fn csv_has_a_row_for_each_frame_and_a_column_for_each_value() {
    let (_folder, path) = made();
    let path = path.to_str().unwrap();
    let rows = [
        "step,md/energy,md/<t>,box[0],box[1],box[2],box[3],name",
        "0,0.0,0.1,0,7,8,9,\"a, \"\"0\"\"\"",
        "10,0.25,0.1,1,7,8,9,\"a, \"\"1\"\"\"",
        "20,NaN,0.1,2,7,8,9,\"a, \"\"2\"\"\"",
        "30,0.75,0.1,3,7,8,9,\"a, \"\"0\"\"\"", // the name is frame 0's
    ];
    assert_eq!(text(&["log", "--csv", path]), rows.join("\n") + "\n");
    assert_eq!(text(&["log", "--csv", path, "md/e*"]).lines().nth(2), Some("10,0.25"));
    assert_eq!(
        text(&["log", "--csv", "--frames", "-1..", path, "box", "md/energy"]),
        "step,md/energy,box[0],box[1],box[2],box[3]\n30,0.75,3,7,8,9\n"
    );
    let shown = text(&["log", path, "md/energy"]);
    let cells: Vec<Vec<_>> = shown.lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(cells[0], ["step", "md/energy"]);
    assert_eq!((cells.len(), &cells[4][..]), (5, &["30", "0.75"][..]));
}

#[test]
fn json_has_lists_of_values_with_their_shapes() {
    let (_folder, path) = made();
    let path = path.to_str().unwrap();
    let said = parsed(&["log", "--json", "--frames", "1..", path]);
    let quantities = json!([
        {"name": "configuration/step", "shape": [1, 1], "values": [10, 20, 30]},
        {"name": "md/energy", "shape": [1, 1], "values": [0.25, null, 0.75]},
        {"name": "md/<t>", "shape": [1, 1], "values": [0.1, 0.1, 0.1]},
        {"name": "box", "shape": [2, 2], "values": [[1, 7, 8, 9], [2, 7, 8, 9], [3, 7, 8, 9]]},
        {"name": "name", "shape": [6, 1], "values": ["a, \"1\"", "a, \"2\"", "a, \"0\""]},
    ]);
    let expected = json!({"path": path, "first": 1, "frames": 3, "quantities": quantities});
    assert_eq!(said, expected);
}

#[test]
fn a_plot_is_of_each_quantity_of_one_number() {
    let (folder, path) = made();
    let (path, out) = (path.to_str().unwrap(), folder.path().join("a.svg"));
    let svg = out.to_str().unwrap();
    output(&["log", "--plot", svg, path]);
    let drawn = fs::read_to_string(&out).unwrap();
    assert!(drawn.starts_with("<svg ") && drawn.ends_with("</svg>\n"));
    assert_eq!(drawn.matches("<path ").count(), 2);
    assert!(drawn.contains("md/&lt;t&gt;") && drawn.contains("0.0 to 0.75"), "{drawn}");
    let energy = drawn.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
    // NaN is a gap, and what is between it and the end is a dot.
    assert_eq!((energy.matches('M').count(), drawn.matches("<circle ").count()), (1, 1));
    assert_eq!(text(&["log", "--plot", "-", path]), drawn);
    refused(&["log", "--plot", svg, path], 2, "exists already");
    output(&["log", "--plot", svg, "--force", path, "md/energy"]);
    assert_eq!(fs::read_to_string(&out).unwrap().matches("<path ").count(), 1);
    refused(&["log", "--plot", "-", path, "name"], 2, "no quantity of one number to plot");
    refused(&["log", "--plot", "-", path, "box"], 2, "box is no quantity of one number");
    refused(&["log", "--plot", "-", path, "none"], 1, "frame 0 has no chunk log/none");
}

/// Also a peak of one frame of many, and the last frame.
#[test]
fn a_plot_of_many_frames_has_all_peaks_and_says_the_range_of_all() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let version = striae_core::gsd::Version { major: 1, minor: 4 };
    let mut writer = striae::gsd::Builder::new().schema("hoomd", version).create(&path).unwrap();
    for frame in 0..5000 {
        let value = [(1234, 9.0), (2345, -4.0)].into_iter().find(|(peak, _)| *peak == frame);
        writer.write("configuration/step", &[frame as u64 * 10], 1).unwrap();
        writer.write("log/energy", &[value.map_or(1.0, |(_, value)| value)], 1).unwrap();
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    let drawn = text(&["log", "--plot", "-", path.to_str().unwrap()]);
    assert!(drawn.contains("-4.0 to 9.0") && drawn.contains(">49990<"), "{drawn}");
    let line = drawn.split("<path d=\"").nth(1).unwrap().split('"').next().unwrap();
    let heights: Vec<f64> = line
        .split(['M', 'L'])
        .skip(1)
        .map(|point| point.split(' ').nth(1).unwrap().parse().unwrap())
        .collect();
    assert!((1000..=2000).contains(&heights.len()), "{}", heights.len());
    let mut levels = heights;
    levels.sort_by(f64::total_cmp);
    levels.dedup();
    assert_eq!(levels.len(), 3, "{levels:?}"); // both peaks, and all else
    assert!((levels[2] - levels[0] - 160.0).abs() < 0.2, "{levels:?}"); // the height of a plot
}

#[test]
fn numbers_without_a_difference_or_with_a_large_one_are_drawn() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.gsd");
    let version = striae_core::gsd::Version { major: 1, minor: 4 };
    let mut writer = striae::gsd::Builder::new().schema("hoomd", version).create(&path).unwrap();
    for sign in [1.0, -1.0, 1.0] {
        writer.write("log/large", &[1e300_f64], 1).unwrap();
        writer.write("log/wide", &[sign * f64::MAX], 1).unwrap();
        writer.end_frame().unwrap();
    }
    writer.close().unwrap();
    let drawn = text(&["log", "--plot", "-", path.to_str().unwrap()]);
    assert!(!drawn.contains("NaN") && !drawn.contains("inf"), "{drawn}");
    let paths: Vec<_> = drawn.split("<path d=\"").skip(1).collect();
    let [large, wide] = paths[..] else { panic!("{drawn}") };
    let heights = |path: &str| -> Vec<String> {
        let points = path.split('"').next().unwrap().split(['M', 'L']).skip(1);
        points.map(|point| point.split(' ').nth(1).unwrap().to_owned()).collect()
    };
    assert!(heights(large).iter().all(|height| *height == heights(large)[0]));
    assert!(heights(wide)[0] == heights(wide)[2] && heights(wide)[0] != heights(wide)[1]);
}

#[test]
fn what_cannot_be_logged_is_refused_and_named() {
    let (folder, path) = made();
    let path = path.to_str().unwrap();
    refused(&["log", path, "none"], 1, "frame 0 has no chunk log/none");
    refused(&["log", "--frames", "9..", path], 2, "selects nothing");
    let both = predicate::str::contains("cannot be used with");
    striae(&["log", "--csv", "--json", path]).assert().code(2).stderr(both);
    let other = folder.path().join("other.gsd");
    striae::gsd::Builder::new().create(&other).unwrap().close().unwrap();
    refused(&["log", other.to_str().unwrap()], 1, "schema");
    let sion = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden/sion/m01_np1.sion");
    refused(&["log", sion], 2, "does not support SIONlib");
}

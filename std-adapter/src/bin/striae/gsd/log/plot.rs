//! Plots as SVG: without scripts or fonts, and always with equal bytes for equal input.

use super::{is_plotted, number, stride};
use crate::failure::Failure;
use crate::map::svg::escaped;
use crate::printable::printable_path;
use std::fmt::Write;
use std::path::Path;
use striae::gsd::hoomd::Series;

/// Sizes in points: of a plot, of the margin, of a line of text.
const PLOT: (f64, f64) = (720.0, 160.0);
const MARGIN: f64 = 16.0;
const LINE: f64 = 16.0;

/// The most points of a plot: more cannot be told apart.
const POINTS: usize = 2000;

/// A plot of each series of numbers but the first one, which has the steps.
pub(super) fn svg(path: &Path, series: &[Series]) -> Result<String, Failure> {
    let none = || Failure::usage(path, "there is no quantity of one number to plot");
    let (steps, others) = series.split_first().ok_or_else(none)?;
    let plots: Vec<_> = others.iter().filter(|of| is_plotted(of)).collect();
    if plots.is_empty() {
        return Err(none());
    }
    let each = PLOT.1 + 4.0 * LINE;
    let (mut text, mut y) = (String::new(), MARGIN + LINE);
    let _ =
        writeln!(text, "<text x=\"{MARGIN}\" y=\"{y}\">{}</text>", escaped(&printable_path(path)));
    for plot in plots {
        y += LINE;
        draw(&mut text, y, steps, plot);
        y += each;
    }
    let (width, height) = (PLOT.0 + 2.0 * MARGIN, y);
    Ok(format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" font-family=\"monospace\" font-size=\"12\">\n\
         <rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{text}</svg>\n"
    ))
}

/// The smallest and the largest of some numbers. They differ, but for numbers that are so large
/// that there is no other one near.
fn range(numbers: impl Iterator<Item = f64>) -> (f64, f64) {
    let start = (f64::INFINITY, f64::NEG_INFINITY);
    let (low, high) = numbers.fold(start, |(low, high), of| (low.min(of), high.max(of)));
    match (low.is_finite() && high.is_finite(), low < high) {
        (false, _) => (0.0, 1.0),
        (true, false) => (low - 0.5, high + 0.5),
        (true, true) => (low, high),
    }
}

/// Where a number is between two others, from 0 to 1. The difference of these may be no number.
fn place(value: f64, (low, high): (f64, f64)) -> f64 {
    let of = high / 2.0 - low / 2.0;
    if of > 0.0 { (value / 2.0 - low / 2.0) / of } else { 0.5 }
}

/// Draws a series over the steps. Values that are not finite are gaps, and a value between two gaps
/// is a dot.
fn draw(text: &mut String, top: f64, steps: &Series, series: &Series) {
    let frames = series.quantity.values.len().checked_div(stride(series)).unwrap_or(0);
    let step = frames.div_ceil(POINTS).max(1);
    let points = || (0..frames).step_by(step);
    let (of_steps, values) = (&steps.quantity.values, &series.quantity.values);
    let (left, right) = range(points().filter_map(|frame| number(of_steps, frame)));
    let (low, high) = range(points().filter_map(|frame| number(values, frame)));
    let name = series.name.strip_prefix("log/").unwrap_or(&series.name);
    let (box_top, right_edge) = (top + LINE, MARGIN + PLOT.0);
    let bottom = box_top + PLOT.1;
    let _ = write!(
        text,
        "<text x=\"{MARGIN}\" y=\"{top}\">{}</text>\n\
         <text x=\"{right_edge}\" y=\"{top}\" text-anchor=\"end\">{low:?} to {high:?}</text>\n\
         <rect x=\"{MARGIN}\" y=\"{box_top}\" width=\"{}\" height=\"{}\" fill=\"none\" \
         stroke=\"#999\"/>\n\
         <text x=\"{MARGIN}\" y=\"{}\">step {left}</text>\n\
         <text x=\"{right_edge}\" y=\"{}\" text-anchor=\"end\">{right}</text>\n<path d=\"",
        escaped(name),
        PLOT.0,
        PLOT.1,
        bottom + LINE,
        bottom + LINE,
    );
    let point = |frame| {
        let (at, value) = number(of_steps, frame).zip(number(values, frame))?;
        let x = MARGIN + PLOT.0 * place(at, (left, right));
        Some((x, bottom - PLOT.1 * place(value, (low, high))))
    };
    let (all, mut dots) = (points().map(point).collect::<Vec<_>>(), String::new());
    for run in all.split(Option::is_none) {
        for (number, (x, y)) in run.iter().flatten().enumerate() {
            let _ = match (run.len(), number) {
                (1, _) => {
                    writeln!(dots, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"#06c\"/>")
                }
                (_, 0) => write!(text, "M{x:.1} {y:.1}"),
                _ => write!(text, "L{x:.1} {y:.1}"),
            };
        }
    }
    let _ = write!(text, "\" fill=\"none\" stroke=\"#06c\"/>\n{dots}");
}

//! The picture: recall in the first five by size of catalogue, ours and the baselines.

use std::fmt::Write as _;

use super::figures::real;

pub(super) struct Line<'a> {
    pub(super) label: &'a str,
    /// One a column, between zero and one.
    pub(super) values: Vec<f64>,
}

pub(super) fn svg(columns: &[&str], lines: &[Line<'_>]) -> Result<String, std::fmt::Error> {
    const COLOURS: [&str; 4] = ["#0a7", "#888", "#c73", "#57c"];
    let x = |place: usize| 70.0 + 220.0 * real(place);
    let y = |value: f64| 320.0 - 280.0 * value;
    let mut out = String::from(
        "<svg xmlns='http://www.w3.org/2000/svg' width='760' height='380' font-family='sans-serif' font-size='12'>\n<rect width='760' height='380' fill='white'/>\n",
    );
    for tenth in (0..=10_u8).step_by(2) {
        let value = f64::from(tenth) / 10.0;
        let at = y(value);
        writeln!(
            out,
            "<path d='M60 {at} H580' stroke='#ddd'/><text x='30' y='{at}'>{value:.1}</text>"
        )?;
    }
    for (place, column) in columns.iter().enumerate() {
        writeln!(out, "<text x='{}' y='345' text-anchor='middle'>{column}</text>", x(place))?;
    }
    for (number, line) in lines.iter().enumerate() {
        let colour = COLOURS.get(number % COLOURS.len()).copied().unwrap_or("black");
        let points: Vec<String> = line
            .values
            .iter()
            .enumerate()
            .map(|(place, value)| format!("{},{}", x(place), y(*value)))
            .collect();
        writeln!(
            out,
            "<polyline points='{}' fill='none' stroke='{colour}' stroke-width='2'/>",
            points.join(" ")
        )?;
        let last = line.values.last().copied().unwrap_or_default();
        let beside = y(last) + 4.0;
        writeln!(
            out,
            "<text x='590' y='{beside}' fill='{colour}'>{} {last:.2}</text>",
            line.label
        )?;
    }
    writeln!(
        out,
        "<text x='60' y='25'>recall of the right tools in the first five, average of the sets</text>\n</svg>"
    )?;
    Ok(out)
}

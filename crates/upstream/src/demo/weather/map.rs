//! A small weather map as a PNG: a smooth field of dice rolls in eight colours.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::demo::dice;
use crate::demo::png::{self, Picture};

const WIDTH: u16 = 96;
const HEIGHT: u16 = 64;
/// Pixels between two rolls; what lies between is interpolated.
const CELL: u16 = 16;
const COLOURS: u32 = 8;

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Layer {
    #[default]
    Temperature,
    Rain,
}

impl Layer {
    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::Temperature => "temperature",
            Self::Rain => "rain",
        }
    }

    /// From cold to hot, or from dry to wet.
    fn palette(self) -> Vec<[u8; 3]> {
        let shade = |step: u8| match self {
            Self::Temperature => [36 * step, 90, 36 * (7 - step)],
            Self::Rain => [240 - 30 * step, 244 - 24 * step, 250],
        };
        (0..8).map(shade).collect()
    }
}

/// An image block of MCP.
pub(super) fn image(layer: Layer, city: &str, date: &str) -> Value {
    let data = STANDARD.encode(png::encode(&draw(layer, city, date)));
    json!({"type": "image", "mimeType": "image/png", "data": data})
}

fn draw(layer: Layer, city: &str, date: &str) -> Picture {
    let seed = format!("{city} {date} {}", layer.title());
    let columns = u32::from(WIDTH / CELL) + 1;
    let knots: Vec<u32> = (0..columns * (u32::from(HEIGHT / CELL) + 1))
        .map(|knot| dice::roll(&format!("{seed} {knot}"), COLOURS * 256))
        .collect();
    let knot = |x: u32, y: u32| {
        usize::try_from(y * columns + x).ok().and_then(|at| knots.get(at)).copied().unwrap_or(0)
    };
    let rows = 0..u32::from(HEIGHT);
    let pixels = rows.flat_map(|y| (0..u32::from(WIDTH)).map(move |x| (x, y)));
    let pixels = pixels.map(|(x, y)| colour(x, y, knot)).collect();
    Picture { width: WIDTH, height: HEIGHT, palette: layer.palette(), pixels }
}

/// The mean of the four knots around a pixel, weighted by nearness.
fn colour(x: u32, y: u32, knot: impl Fn(u32, u32) -> u32) -> u8 {
    let cell = u32::from(CELL);
    let (left, top, right, down) = (x / cell, y / cell, x % cell, y % cell);
    let upper = knot(left, top) * (cell - right) + knot(left + 1, top) * right;
    let lower = knot(left, top + 1) * (cell - right) + knot(left + 1, top + 1) * right;
    let level = (upper * (cell - down) + lower * down) / (cell * cell) / 256;
    u8::try_from(level.min(COLOURS - 1)).unwrap_or_default()
}

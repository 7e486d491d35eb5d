//! How warm, wet and windy a city is on a day: its climate, the season, and a roll of the dice.

use model::Timestamp;

use crate::demo::{days, dice};

pub(super) struct City {
    pub(super) name: &'static str,
    pub(super) country: &'static str,
    /// The yearly mean, in tenths of a degree.
    mean_tenths: i32,
    /// How far the seasons swing around it; negative in the south.
    swing_tenths: i32,
    /// Of a hundred days, those with rain.
    rain_days: u32,
}

pub(super) const CITIES: &[City] = &[
    City { name: "Bengaluru", country: "IN", mean_tenths: 241, swing_tenths: 25, rain_days: 28 },
    City { name: "Berlin", country: "DE", mean_tenths: 103, swing_tenths: 98, rain_days: 30 },
    City { name: "Delhi", country: "IN", mean_tenths: 252, swing_tenths: 92, rain_days: 14 },
    City { name: "London", country: "GB", mean_tenths: 116, swing_tenths: 66, rain_days: 41 },
    City { name: "Mumbai", country: "IN", mean_tenths: 274, swing_tenths: 29, rain_days: 33 },
    City { name: "New York", country: "US", mean_tenths: 132, swing_tenths: 121, rain_days: 33 },
    City { name: "Reykjavik", country: "IS", mean_tenths: 51, swing_tenths: 57, rain_days: 58 },
    City { name: "Sydney", country: "AU", mean_tenths: 182, swing_tenths: -52, rain_days: 36 },
    City { name: "Tokyo", country: "JP", mean_tenths: 158, swing_tenths: 108, rain_days: 31 },
];

/// Tenths of the swing, from January on.
const SEASON: [i32; 12] = [-10, -9, -5, 0, 5, 9, 10, 9, 5, 0, -5, -9];

pub(super) struct Day {
    pub(super) city: &'static str,
    pub(super) date: String,
    pub(super) condition: &'static str,
    pub(super) high_tenths: i32,
    pub(super) low_tenths: i32,
    pub(super) rain_mm: u32,
    pub(super) wind_kph: u32,
}

impl Day {
    /// A warning, if the day deserves one.
    pub(super) fn alert(&self) -> Option<String> {
        let Self { city, rain_mm, wind_kph, .. } = self;
        match () {
            () if *rain_mm >= 40 => {
                Some(format!("heavy rain in {city}, {rain_mm} mm expected; avoid low roads"))
            }
            () if *wind_kph >= 65 => {
                Some(format!("storm in {city}, gusts of {wind_kph} km/h; secure loose things"))
            }
            () => None,
        }
    }
}

/// The weather of the day `at` falls on.
pub(super) fn day(city: &City, at: Timestamp) -> Day {
    let date = days::date(at);
    let roll = |what: &str, sides| dice::roll(&format!("{} {date} {what}", city.name), sides);
    let noise = |what: &str, sides| i32::try_from(roll(what, sides)).unwrap_or_default();
    let rain_mm = if roll("wet", 100) < city.rain_days { 1 + roll("rain", 50) } else { 0 };
    let middle = city.mean_tenths + city.swing_tenths * season(&date) / 10 + noise("warm", 60) - 30;
    Day {
        city: city.name,
        condition: condition(rain_mm, middle, roll("sky", 3)),
        high_tenths: middle + 20 + noise("high", 40),
        low_tenths: middle - 20 - noise("low", 40),
        rain_mm,
        wind_kph: 4 + roll("wind", 40) + roll("gust", 30),
        date,
    }
}

fn season(date: &str) -> i32 {
    let month: usize = date.split('-').nth(1).and_then(|month| month.parse().ok()).unwrap_or(1);
    SEASON.get(month.saturating_sub(1)).copied().unwrap_or_default()
}

fn condition(rain_mm: u32, middle_tenths: i32, sky: u32) -> &'static str {
    match (rain_mm, sky) {
        (1.., _) if middle_tenths < 5 => "snow",
        (20.., _) => "heavy_rain",
        (1.., _) => "rain",
        (0, 0) => "clear",
        (0, 1) => "partly_cloudy",
        (0, _) => "cloudy",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The mean high of ten July and ten January days tells the hemisphere.
    #[test]
    fn summers_are_warmer_than_winters_on_both_halves_of_the_earth() {
        let mean = |city: &City, month: &str| -> i32 {
            let dates = (10..20).map(|day| days::parse(&format!("2026-{month}-{day}")).unwrap());
            dates.map(|at| day(city, at).high_tenths).sum()
        };
        for city in CITIES {
            let july_is_warmer = mean(city, "07") > mean(city, "01");
            assert_eq!(july_is_warmer, city.name != "Sydney", "{}", city.name);
        }
    }
}

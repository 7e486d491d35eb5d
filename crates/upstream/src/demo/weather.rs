//! The `weather` namespace: invented weather that is the same for the same city and day. It reads
//! no state, and no real forecast is asked.

mod climate;
mod contract;
mod map;

use model::{Answer, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use super::days::{self, DAY_MS};
use super::refusal::{Outcome, Refusal, done};
use super::state::State;
use climate::{CITIES, City, Day};

pub(super) use contract::definitions;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Nothing {}

pub(super) fn list_cities(_: &State, _: &Nothing, _: Timestamp) -> Outcome {
    let cities = CITIES.iter().map(|city| json!({"city": city.name, "country": city.country}));
    done(json!({"cities": cities.collect::<Vec<_>>()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Current {
    city: String,
}

pub(super) fn current(_: &State, args: &Current, now: Timestamp) -> Outcome {
    done(told(&climate::day(find(&args.city)?, now)))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Forecast {
    city: String,
    days: Option<i64>,
    from: Option<String>,
}

pub(super) fn forecast(_: &State, args: &Forecast, now: Timestamp) -> Outcome {
    let city = find(&args.city)?;
    let first = day_or_today(args.from.as_deref(), now)?;
    let days = (0..args.days.unwrap_or(5).clamp(1, 14))
        .map(|offset| told(&climate::day(city, days::shifted(first, offset * DAY_MS))));
    done(json!({"city": city.name, "days": days.collect::<Vec<_>>()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Compare {
    cities: Vec<String>,
    date: Option<String>,
}

pub(super) fn compare(_: &State, args: &Compare, now: Timestamp) -> Outcome {
    let at = day_or_today(args.date.as_deref(), now)?;
    let cities = args.cities.iter().take(CITIES.len()).map(|name| find(name));
    let mut days = cities
        .map(|city| city.map(|city| climate::day(city, at)))
        .collect::<Result<Vec<Day>, Refusal>>()?;
    days.sort_by_key(|day| std::cmp::Reverse(day.high_tenths));
    let warmest = days.first().map(|day| day.city);
    done(json!({"warmest": warmest, "days": days.iter().map(told).collect::<Vec<_>>()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Alerts {
    city: Option<String>,
}

pub(super) fn alerts(_: &State, args: &Alerts, now: Timestamp) -> Outcome {
    let asked = args.city.as_deref().map(find).transpose()?;
    let cities = CITIES.iter().filter(|city| asked.is_none_or(|asked| asked.name == city.name));
    let alerts = cities.flat_map(|city| {
        let coming = (0..3).map(|offset| climate::day(city, days::shifted(now, offset * DAY_MS)));
        coming.filter_map(|day| day.alert().map(|text| (day, text))).collect::<Vec<_>>()
    });
    let alerts =
        alerts.map(|(day, text)| json!({"city": day.city, "date": day.date, "text": text}));
    done(json!({"alerts": alerts.collect::<Vec<_>>()}))
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct RenderMap {
    city: String,
    date: Option<String>,
    #[serde(default)]
    layer: map::Layer,
}

pub(super) fn render_map(_: &State, args: &RenderMap, now: Timestamp) -> Outcome {
    let city = find(&args.city)?;
    let date = days::date(day_or_today(args.date.as_deref(), now)?);
    let caption = format!("{} around {} on {date}", args.layer.title(), city.name);
    let mut answer = Answer::text(caption);
    answer.content.push(map::image(args.layer, city.name, &date));
    Ok(answer)
}

fn told(day: &Day) -> Value {
    json!({
        "city": day.city,
        "date": day.date,
        "condition": day.condition,
        "high_c": f64::from(day.high_tenths) / 10.0,
        "low_c": f64::from(day.low_tenths) / 10.0,
        "rain_mm": day.rain_mm,
        "wind_kph": day.wind_kph,
    })
}

fn find(name: &str) -> Result<&'static City, Refusal> {
    let found = CITIES.iter().find(|city| city.name.eq_ignore_ascii_case(name));
    found.ok_or_else(|| Refusal::unknown("city", name, "weather_list_cities"))
}

fn day_or_today(date: Option<&str>, now: Timestamp) -> Result<Timestamp, Refusal> {
    let Some(date) = date else { return Ok(days::midnight(now)) };
    days::parse(date).ok_or_else(|| {
        let text = format!("`{date}` is no day of the calendar; write one such as `2026-11-16`");
        Refusal::new("DATE_INVALID", text)
    })
}

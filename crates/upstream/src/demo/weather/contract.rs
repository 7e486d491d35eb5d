//! What the `weather` tools say of themselves.

use serde_json::{Value, json};

use super::climate::CITIES;
use crate::demo::schema::{
    Label, Manner, choice, count, day, full, list, number, object, one_of, string, tool, whole,
};

pub(in crate::demo) fn definitions() -> Vec<Value> {
    let mut all = vec![list_cities(), render_map(), alerts()];
    all.extend(days());
    all
}

fn list_cities() -> Value {
    let place = full(json!({"city": string(), "country": string()}));
    tool(
        &Label {
            name: "weather_list_cities",
            title: "List Cities",
            description: "List the cities whose weather is known.",
        },
        Manner::Read,
        object(&[], json!({})),
        Some(full(json!({"cities": list("By name.", place)}))),
    )
}

/// No output schema: the answer is a caption and a picture.
fn render_map() -> Value {
    tool(
        &Label {
            name: "weather_render_map",
            title: "Render Weather Map",
            description: "Draw a small map of temperature or rain around a city and return it as \
                          a PNG image.",
        },
        Manner::Read,
        object(
            &["city"],
            json!({
                "city": city(),
                "date": day("The day; today if absent."),
                "layer": choice("What to draw; `temperature` if absent.", &["temperature", "rain"]),
            }),
        ),
        None,
    )
}

fn alerts() -> Value {
    let alert = full(json!({"city": string(), "date": string(), "text": string()}));
    tool(
        &Label {
            name: "weather_get_alerts",
            title: "Get Weather Alerts",
            description: "List warnings of storm and heavy rain for today and the two days after.",
        },
        Manner::Read,
        object(&[], json!({"city": city()})),
        Some(full(json!({"alerts": list("By city and day.", alert)}))),
    )
}

fn days() -> Vec<Value> {
    vec![
        tool(
            &Label {
                name: "weather_get_current",
                title: "Get Current Weather",
                description: "Tell today's weather in one city.",
            },
            Manner::Read,
            object(&["city"], json!({"city": city()})),
            Some(weather()),
        ),
        tool(
            &Label {
                name: "weather_get_forecast",
                title: "Get Forecast",
                description: "Tell the weather of one city for several days in a row.",
            },
            Manner::Read,
            object(
                &["city"],
                json!({
                    "city": city(),
                    "days": whole("How many days; 5 if absent.", 1, 14),
                    "from": day("First day; today if absent."),
                }),
            ),
            Some(full(json!({"city": string(), "days": list("In order.", weather())}))),
        ),
        tool(
            &Label {
                name: "weather_compare_cities",
                title: "Compare Cities",
                description: "Compare the weather of several cities on one day, warmest first.",
            },
            Manner::Read,
            object(
                &["cities"],
                json!({
                    "cities": {
                        "type": "array", "description": "Two to nine cities.", "items": city(),
                        "minItems": 2, "maxItems": 9, "uniqueItems": true,
                    },
                    "date": day("The day; today if absent."),
                }),
            ),
            Some(full(json!({"warmest": string(), "days": list("Warmest first.", weather())}))),
        ),
    ]
}

fn city() -> Value {
    let names: Vec<&str> = CITIES.iter().map(|city| city.name).collect();
    choice("Name of the city.", &names)
}

fn weather() -> Value {
    let conditions = ["clear", "partly_cloudy", "cloudy", "rain", "heavy_rain", "snow"];
    full(json!({
        "city": string(), "date": string(), "condition": one_of(&conditions), "high_c": number(),
        "low_c": number(), "rain_mm": count(), "wind_kph": count(),
    }))
}

//! Server-sent events: writing them to clients, reading them from upstreams.

use std::time::Duration;

use crate::pieces::Pieces;

/// A comment that keeps an idle connection open and means nothing.
pub const KEEP_ALIVE: &[u8] = b": keep-alive\n\n";

/// One event. An absent name means `message`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    pub name: Option<String>,
    pub id: Option<String>,
    pub data: String,
}

/// Writes one event. `data` must be a single line, as JSON from this crate always is.
pub fn write(name: &str, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len() + data.len() + 18);
    bytes.extend_from_slice(b"event: ");
    bytes.extend_from_slice(name.as_bytes());
    bytes.extend_from_slice(b"\ndata: ");
    bytes.extend_from_slice(data);
    bytes.extend_from_slice(b"\n\n");
    bytes
}

/// Reads events from a byte stream, however the bytes arrive.
///
/// Lines that are JSON themselves are events, too: some servers send those in place of events.
#[derive(Debug)]
pub struct Events {
    line: Pieces,
    event: Event,
    has_data: bool,
    bytes_max: usize,
    last_id: Option<String>,
    retry: Option<Duration>,
}

/// An event grew past the limit; the stream cannot be trusted any further.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an event is larger than the limit")]
pub struct EventTooLarge;

impl Events {
    pub fn new(bytes_max: usize) -> Self {
        Self {
            line: Pieces::default(),
            event: Event::default(),
            has_data: false,
            bytes_max,
            last_id: None,
            retry: None,
        }
    }

    /// Where to go on if the stream breaks; nowhere unless the server named its events.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref()
    }

    /// How long the server wants to be left alone before that.
    pub fn retry(&self) -> Option<Duration> {
        self.retry
    }

    /// What is left when the stream has ended: a line of JSON without its end.
    pub fn finish(&mut self) -> Option<Event> {
        let line = self.line.take();
        bare(String::from_utf8_lossy(&line).trim())
    }

    /// Takes what was read and returns the events it completes.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Vec<Event>, EventTooLarge> {
        let mut events = Vec::new();
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.line.len() + self.event.data.len() + piece.len() > self.bytes_max {
                return Err(EventTooLarge);
            }
            self.line.push(piece);
            if piece.ends_with(b"\n") {
                let line = self.line.take();
                events.extend(
                    self.take(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n'])),
                );
            }
        }
        Ok(events)
    }

    fn take(&mut self, line: &str) -> Option<Event> {
        if line.is_empty() {
            let event = std::mem::take(&mut self.event);
            if event.id.is_some() {
                self.last_id.clone_from(&event.id);
            }
            return std::mem::take(&mut self.has_data).then_some(event);
        }
        if let Some(event) = bare(line) {
            return Some(event);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "data" => {
                if self.has_data {
                    self.event.data.push('\n');
                }
                self.event.data.push_str(value);
                self.has_data = true;
            }
            "event" => self.event.name = Some(value.to_owned()),
            "id" => self.event.id = Some(value.to_owned()),
            "retry" => self.retry = value.parse().ok().map(Duration::from_millis).or(self.retry),
            _ => {}
        }
        None
    }
}

/// No field of an event begins like JSON.
fn bare(line: &str) -> Option<Event> {
    line.starts_with(['{', '[']).then(|| Event { data: line.to_owned(), ..Event::default() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn data(text: &str) -> Event {
        Event { data: text.to_owned(), ..Event::default() }
    }

    #[test]
    fn events_are_read_as_the_standard_says() {
        let check = |text: &str, wanted: &[Event]| {
            assert_eq!(Events::new(100).push(text.as_bytes()).unwrap(), wanted, "{text:?}");
        };
        check("data: a\n\n", &[data("a")]);
        check("data:a\n\ndata: b\n\n", &[data("a"), data("b")]);
        check("data: a\ndata: b\n\n", &[data("a\nb")]);
        check("data: a\r\n\r\n", &[data("a")]);
        check(": comment\n\ndata: a\n\n", &[data("a")]);
        check("retry: 5\n\n", &[]);
        check("event: message\n\n", &[]);
        check("data: unfinished\n", &[]);
        let named = Event {
            name: Some("endpoint".to_owned()),
            id: Some("7".to_owned()),
            data: "/x".to_owned(),
        };
        check("id: 7\nevent: endpoint\ndata: /x\n\n", &[named]);
    }

    #[test]
    fn lines_of_json_are_events_too() {
        let check = |text: &str, wanted: &[&str], left: Option<&str>| {
            let mut events = Events::new(100);
            let got: Vec<_> = events.push(text.as_bytes()).unwrap();
            assert_eq!(got, wanted.iter().map(|text| data(text)).collect::<Vec<_>>(), "{text:?}");
            assert_eq!(events.finish(), left.map(data), "{text:?}");
        };
        check("{\"a\":1}\n[2]\r\n{\"b\":", &["{\"a\":1}", "[2]"], Some("{\"b\":"));
        check("data: x\n\n{}\n", &["x", "{}"], None);
        check("data: half", &[], None);
    }

    #[test]
    fn a_stream_says_where_and_when_to_go_on() {
        let mut events = Events::new(100);
        events.push(b"id: 7\nretry: 500\ndata:\n\nid: 8\nretry: soon\ndata: x\n").unwrap();
        assert_eq!(
            (events.last_id(), events.retry()),
            (Some("7"), Some(Duration::from_millis(500)))
        );
    }

    #[test]
    fn an_endless_event_is_refused() {
        assert_eq!(Events::new(8).push(b"data: 123456789012345\n"), Err(EventTooLarge));
        let mut events = Events::new(20);
        let all: Result<Vec<_>, _> = (0..100).map(|_| events.push(b"data: 12345\n")).collect();
        assert_eq!(all, Err(EventTooLarge));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_however_it_arrives(
            texts in proptest::collection::vec("[ -~]{1,30}", 1..5), step in 1usize..40
        ) {
            let bytes: Vec<u8> = texts.iter().flat_map(|text| write("message", text.as_bytes())).collect();
            let mut events = Events::new(1000);
            let mut read = Vec::new();
            for chunk in bytes.chunks(step) {
                read.extend(events.push(chunk).unwrap());
            }
            let got: Vec<String> = read.into_iter().map(|event| event.data).collect();
            // One leading space belongs to the format.
            prop_assert_eq!(got, texts);
        }
    }
}

//! A JSON object that is being written, field by field, without those that need not be there.
//!
//! Most of an entry are ids and hashes: they are looked through as a whole, not letter by letter as
//! `serde_json` does, which took two thirds of the time.

use serde::Serialize;
use serde_json::Value;

pub(super) type Written = serde_json::Result<()>;

pub(super) struct Object<'o> {
    out: &'o mut Vec<u8>,
    begun: bool,
}

/// Two objects that are written side by side, and have parts of the same names.
pub(super) struct Halves<'o> {
    pub(super) own: Object<'o>,
    pub(super) form: Object<'o>,
}

impl Halves<'_> {
    /// A part of both.
    pub(super) fn object(
        &mut self,
        name: &'static str,
        fill: impl FnOnce(&mut Halves<'_>) -> Written,
    ) -> Written {
        self.form.name(name);
        self.own.half(name, self.form.out, fill)
    }
}

impl Object<'_> {
    /// The caller writes its end.
    pub(super) fn begin(out: &mut Vec<u8>) -> Object<'_> {
        out.push(b'{');
        Object { out, begun: false }
    }

    /// An object whose other half is written elsewhere.
    pub(super) fn half(
        &mut self,
        name: &'static str,
        form: &mut Vec<u8>,
        fill: impl FnOnce(&mut Halves<'_>) -> Written,
    ) -> Written {
        self.name(name);
        let (own, form) = (Object::begin(self.out), Object::begin(form));
        let mut halves = Halves { own, form };
        fill(&mut halves)?;
        halves.own.out.push(b'}');
        halves.form.out.push(b'}');
        Ok(())
    }

    pub(super) fn write(
        out: &mut Vec<u8>,
        fill: impl FnOnce(&mut Object<'_>) -> Written,
    ) -> Written {
        out.push(b'{');
        fill(&mut Object { out, begun: false })?;
        out.push(b'}');
        Ok(())
    }

    fn name(&mut self, name: &'static str) {
        if self.begun {
            self.out.push(b',');
        }
        self.begun = true;
        self.plain(name);
        self.out.push(b':');
    }

    fn plain(&mut self, text: &str) {
        self.out.push(b'"');
        self.out.extend_from_slice(text.as_bytes());
        self.out.push(b'"');
    }

    pub(super) fn object(
        &mut self,
        name: &'static str,
        fill: impl FnOnce(&mut Object<'_>) -> Written,
    ) -> Written {
        self.name(name);
        Object::write(self.out, fill)
    }

    pub(super) fn value(&mut self, name: &'static str, value: &impl Serialize) -> Written {
        self.name(name);
        serde_json::to_writer(&mut *self.out, value)
    }

    pub(super) fn text(&mut self, name: &'static str, text: &str) {
        self.name(name);
        self.quoted(text);
    }

    fn quoted(&mut self, text: &str) {
        if is_plain(text) {
            self.plain(text);
        } else {
            self.out.extend_from_slice(Value::from(text).to_string().as_bytes());
        }
    }

    pub(super) fn objects<T>(
        &mut self,
        name: &'static str,
        all: &[T],
        fill: impl Fn(&mut Object<'_>, &T),
    ) {
        self.list(name, all, |object, one| {
            object.out.push(b'{');
            fill(&mut Object { out: object.out, begun: false }, one);
            object.out.push(b'}');
        });
    }

    pub(super) fn texts<T: AsRef<str>>(&mut self, name: &'static str, texts: &[T]) {
        self.list(name, texts, |object, text| object.quoted(text.as_ref()));
    }

    fn list<T>(&mut self, name: &'static str, all: &[T], write: impl Fn(&mut Self, &T)) {
        self.name(name);
        self.out.push(b'[');
        for (place, one) in all.iter().enumerate() {
            if place > 0 {
                self.out.push(b',');
            }
            write(self, one);
        }
        self.out.push(b']');
    }

    pub(super) fn some_text<T: AsRef<str>>(&mut self, name: &'static str, value: Option<&T>) {
        if let Some(value) = value {
            self.text(name, value.as_ref());
        }
    }

    pub(super) fn some(&mut self, name: &'static str, value: Option<&impl Serialize>) -> Written {
        value.map_or(Ok(()), |value| self.value(name, value))
    }

    pub(super) fn unless(&mut self, name: &'static str, text: &str, expected: &str) {
        if text != expected {
            self.text(name, text);
        }
    }

    pub(super) fn unless_default<T>(&mut self, name: &'static str, value: &T) -> Written
    where
        T: Serialize + Default + PartialEq,
    {
        if *value == T::default() { Ok(()) } else { self.value(name, value) }
    }

    /// An id that is not the prefix with the number of the record.
    pub(super) fn unless_numbered(
        &mut self,
        name: &'static str,
        id: &str,
        prefix: &str,
        number: Option<&str>,
    ) {
        if number.is_none() || id.strip_prefix(prefix) != number {
            self.text(name, id);
        }
    }

    pub(super) fn unless_twin<T: AsRef<str>>(
        &mut self,
        name: &'static str,
        value: Option<&T>,
        twin: Option<&str>,
    ) {
        match value.map(AsRef::as_ref) {
            value if value == twin => {}
            Some(value) => self.text(name, value),
            None => {
                self.name(name);
                self.out.extend_from_slice(b"null");
            }
        }
    }
}

/// Whether JSON has it as it is. No letter ends the look and one byte holds what was found, so that
/// the compiler looks at 32 letters in one go.
fn is_plain(text: &str) -> bool {
    let special = |byte| u8::from(matches!(byte, 0..b' ' | b'"' | b'\\'));
    text.bytes().fold(0, |found, byte| found | special(byte)) == 0
}

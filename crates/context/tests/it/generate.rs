//! Draws texts that match a regular expression, the same ones in every run.

use regex_syntax::ParserBuilder;
use regex_syntax::hir::{Class, Hir, HirKind, Repetition};

pub(crate) struct Generator {
    hir: Hir,
    state: u64,
}

impl Generator {
    pub(crate) fn new(regex: &str, seed: &str) -> Option<Self> {
        let hir = ParserBuilder::new().unicode(false).utf8(false).build().parse(regex).ok()?;
        let state = seed.bytes().fold(0x9E37_79B9_7F4A_7C15, |state: u64, byte| {
            (state ^ u64::from(byte)).wrapping_mul(0x0100_0000_01B3)
        });
        Some(Self { hir, state: state | 1 })
    }

    pub(crate) fn draw(&mut self) -> String {
        let mut bytes = Vec::new();
        let hir = self.hir.clone();
        self.write(&hir, &mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    }

    fn write(&mut self, hir: &Hir, out: &mut Vec<u8>) {
        match hir.kind() {
            HirKind::Empty | HirKind::Look(_) => {}
            HirKind::Literal(literal) => out.extend_from_slice(&literal.0),
            HirKind::Class(class) => out.extend(self.pick(class)),
            HirKind::Repetition(repetition) => self.repeat(repetition, out),
            HirKind::Capture(capture) => self.write(&capture.sub, out),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.write(part, out)),
            HirKind::Alternation(parts) => {
                let part = &parts[self.below(parts.len())];
                self.write(part, out);
            }
        }
    }

    fn repeat(&mut self, repetition: &Repetition, out: &mut Vec<u8>) {
        let least = repetition.min as usize;
        let most = repetition.max.map_or(least + 12, |max| max as usize).min(least + 12);
        for _ in 0..least + self.below(most - least + 1) {
            self.write(&repetition.sub, out);
        }
    }

    /// One of the printable characters of the class, or whatever it has.
    fn pick(&mut self, class: &Class) -> Option<u8> {
        let has = |byte: u8| match class {
            Class::Bytes(class) => {
                class.ranges().iter().any(|r| r.start() <= byte && byte <= r.end())
            }
            Class::Unicode(class) => class
                .ranges()
                .iter()
                .any(|r| r.start() <= char::from(byte) && char::from(byte) <= r.end()),
        };
        let printable: Vec<u8> = (b' '..=b'~').filter(|byte| has(*byte)).collect();
        let all = if printable.is_empty() {
            (0..=127).filter(|byte| has(*byte)).collect()
        } else {
            printable
        };
        (!all.is_empty()).then(|| all[self.below(all.len())])
    }

    fn below(&mut self, bound: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        (self.state >> 11) as usize % bound.max(1)
    }
}

//! The part of safetensors a static table needs: a JSON header, then plain little-endian numbers.

use serde_json::Value;

use super::TableError;

pub(super) struct Tensors<'a> {
    header: Value,
    data: &'a [u8],
}

impl<'a> Tensors<'a> {
    pub(super) fn read(bytes: &'a [u8]) -> Result<Self, TableError> {
        let broken = || TableError("`model.safetensors` is cut short or no such file".to_owned());
        let (length, rest) = bytes.split_first_chunk::<8>().ok_or_else(broken)?;
        let length = usize::try_from(u64::from_le_bytes(*length)).ok().ok_or_else(broken)?;
        let (header, data) = rest.split_at_checked(length).ok_or_else(broken)?;
        let header = serde_json::from_slice(header).map_err(|error| {
            TableError(format!("the header of the tensors is no JSON: {error}"))
        })?;
        Ok(Self { header, data })
    }

    /// Rows and columns.
    pub(super) fn shape(&self, name: &str) -> Result<(usize, usize), TableError> {
        let side = |at: usize| self.number(name, "shape", at);
        side(0).zip(side(1)).ok_or_else(|| TableError(format!("no table called `{name}`")))
    }

    /// A table as int8 and what a cell of each row is worth. Floats are rounded to 127 steps a row.
    pub(super) fn cells(&self, name: &str, dims: usize) -> Result<(Vec<i8>, Vec<f32>), TableError> {
        if self.kind(name) == "I8" {
            let cells: Vec<i8> = self.bytes(name)?.iter().map(|byte| byte.cast_signed()).collect();
            let rows = cells.len().checked_div(dims).unwrap_or(0);
            return Ok((cells, vec![1.0; rows]));
        }
        let floats = self.floats(name)?.unwrap_or_default();
        let rows = floats.chunks_exact(dims.max(1)).map(crate::embed::quantise);
        let (cells, scales): (Vec<Vec<i8>>, Vec<f32>) = rows.unzip();
        Ok((cells.concat(), scales))
    }

    pub(super) fn floats(&self, name: &str) -> Result<Option<Vec<f32>>, TableError> {
        if self.header.get(name).is_none() {
            return Ok(None);
        }
        let bytes = self.bytes(name)?;
        let read: Vec<f32> = match self.kind(name) {
            "F32" => {
                bytes.as_chunks::<4>().0.iter().map(|four| f32::from_le_bytes(*four)).collect()
            }
            #[expect(clippy::cast_possible_truncation, reason = "weights need no more")]
            "F64" => {
                let eights = bytes.as_chunks::<8>().0.iter();
                eights.map(|eight| f64::from_le_bytes(*eight) as f32).collect()
            }
            "F16" => {
                bytes.as_chunks::<2>().0.iter().map(|two| half(u16::from_le_bytes(*two))).collect()
            }
            other => {
                return Err(TableError(format!("`{name}` holds `{other}`, not F64, F32 or F16")));
            }
        };
        if read.iter().any(|number| !number.is_finite()) {
            return Err(TableError(format!("`{name}` holds numbers that are not finite")));
        }
        Ok(Some(read))
    }

    /// Row numbers, as models whose tokens share rows have them.
    pub(super) fn places(&self, name: &str) -> Result<Option<Vec<usize>>, TableError> {
        if self.header.get(name).is_none() {
            return Ok(None);
        }
        let bytes = self.bytes(name)?;
        let read: Vec<i64> = match self.kind(name) {
            "I64" => {
                bytes.as_chunks::<8>().0.iter().map(|eight| i64::from_le_bytes(*eight)).collect()
            }
            "I32" => {
                let fours = bytes.as_chunks::<4>().0.iter();
                fours.map(|four| i64::from(i32::from_le_bytes(*four))).collect()
            }
            other => return Err(TableError(format!("`{name}` holds `{other}`, not I64 or I32"))),
        };
        // What is below zero lies outside of every table.
        Ok(Some(read.into_iter().map(|at| usize::try_from(at).unwrap_or(usize::MAX)).collect()))
    }

    fn kind(&self, name: &str) -> &str {
        let kind = self.header.get(name).and_then(|tensor| tensor.get("dtype"));
        kind.and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str, key: &str, at: usize) -> Option<usize> {
        let number = self.header.get(name)?.get(key)?.get(at)?.as_u64()?;
        usize::try_from(number).ok()
    }

    fn bytes(&self, name: &str) -> Result<&'a [u8], TableError> {
        let end = |at: usize| self.number(name, "data_offsets", at);
        let range = end(0).zip(end(1)).and_then(|(start, end)| self.data.get(start..end));
        range.ok_or_else(|| TableError(format!("`{name}` lies outside the file")))
    }
}

/// IEEE half precision; what is below its normal range counts as nothing.
fn half(bits: u16) -> f32 {
    let sign = u32::from(bits >> 15) << 31;
    let exponent = u32::from((bits >> 10) & 0x1f);
    let fraction = u32::from(bits & 0x3ff) << 13;
    match exponent {
        0 => f32::from_bits(sign),
        31 => f32::from_bits(sign | 0x7f80_0000 | fraction),
        _ => f32::from_bits(sign | ((exponent + 112) << 23) | fraction),
    }
}

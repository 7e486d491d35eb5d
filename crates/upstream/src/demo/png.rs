//! The smallest PNG writer that makes valid pictures: indexed colours, no compression.

/// A picture of palette indexes, row by row.
pub(super) struct Picture {
    pub(super) width: u16,
    pub(super) height: u16,
    pub(super) palette: Vec<[u8; 3]>,
    /// `width * height` indexes into the palette.
    pub(super) pixels: Vec<u8>,
}

/// The file's bytes.
pub(super) fn encode(picture: &Picture) -> Vec<u8> {
    let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
    chunk(&mut file, *b"IHDR", &header(picture));
    chunk(&mut file, *b"PLTE", picture.palette.as_flattened());
    chunk(&mut file, *b"IDAT", &zlib_stored(&scanlines(picture)));
    chunk(&mut file, *b"IEND", &[]);
    file
}

fn header(picture: &Picture) -> Vec<u8> {
    let mut header = Vec::new();
    header.extend(u32::from(picture.width).to_be_bytes());
    header.extend(u32::from(picture.height).to_be_bytes());
    // Eight bits a pixel, indexed colour, then the only legal values of three more fields.
    header.extend([8, 3, 0, 0, 0]);
    header
}

fn chunk(file: &mut Vec<u8>, kind: [u8; 4], body: &[u8]) {
    let length = u32::try_from(body.len()).unwrap_or(u32::MAX);
    let mut named = kind.to_vec();
    named.extend(body);
    file.extend(length.to_be_bytes());
    file.extend(&named);
    file.extend(crc32(&named).to_be_bytes());
}

/// Each row of pixels behind a zero that says "no filter".
fn scanlines(picture: &Picture) -> Vec<u8> {
    let rows = picture.pixels.chunks(usize::from(picture.width).max(1));
    rows.flat_map(|row| std::iter::once(0).chain(row.iter().copied())).collect()
}

/// A zlib stream whose blocks are stored as they are.
fn zlib_stored(data: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = data.chunks(usize::from(u16::MAX)).peekable();
    while let Some(block) = blocks.next() {
        let length = u16::try_from(block.len()).unwrap_or(u16::MAX);
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend(length.to_le_bytes());
        stream.extend((!length).to_le_bytes());
        stream.extend(block);
    }
    stream.extend(adler32(data).to_be_bytes());
    stream
}

fn crc32(data: &[u8]) -> u32 {
    let step = |crc: u32| if crc & 1 == 1 { 0xEDB8_8320 ^ (crc >> 1) } else { crc >> 1 };
    !data.iter().fold(u32::MAX, |crc, byte| (0..8).fold(crc ^ u32::from(*byte), |c, _| step(c)))
}

fn adler32(data: &[u8]) -> u32 {
    let sums = data.iter().fold((1_u32, 0_u32), |(low, high), byte| {
        let low = (low + u32::from(*byte)) % 65_521;
        (low, (high + low) % 65_521)
    });
    (sums.1 << 16) | sums.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_checksums_agree_with_the_standards() {
        assert_eq!(crc32(b"123456789"), 0xCBF4_3926);
        assert_eq!(adler32(b"Wikipedia"), 0x11E6_0398);
    }

    #[test]
    fn a_picture_has_the_four_chunks_in_order() {
        let picture = Picture {
            width: 2,
            height: 1,
            palette: vec![[0, 0, 0], [255, 255, 255]],
            pixels: vec![0, 1],
        };
        let file = encode(&picture);
        let places: Vec<_> = ["IHDR", "PLTE", "IDAT", "IEND"]
            .map(|kind| file.windows(4).position(|four| four == kind.as_bytes()).unwrap())
            .into();
        assert!(file.starts_with(b"\x89PNG\r\n\x1a\n") && places.is_sorted());
        assert!(file.ends_with(&[0xAE, 0x42, 0x60, 0x82]), "the known checksum of IEND");
    }
}

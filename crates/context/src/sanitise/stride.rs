//! Finds rare places in a text by passing over whole blocks that cannot hold one.
//!
//! A block is judged by three bytes at every place, without branches, which the compiler makes wide;
//! only what is left is looked at byte by byte.

/// The first place from `from` on where `is` holds, which is told the byte there, too.
///
/// INVARIANT: `may` holds wherever `is` does, for the three bytes there.
pub(super) fn next_place(
    bytes: &[u8],
    from: usize,
    may: impl Fn(u8, u8, u8) -> bool + Copy,
    is: impl Fn(usize, u8) -> bool,
) -> Option<usize> {
    let mut at = from;
    while at < bytes.len() {
        if is_calm::<64>(bytes, at, may) {
            at += 64;
            continue;
        }
        for start in [at, at + 16, at + 32, at + 48] {
            let block = bytes.get(start..(start + 16).min(bytes.len())).unwrap_or_default();
            if !is_calm::<16>(bytes, start, may)
                && let Some((found, _)) = (start..).zip(block).find(|(at, byte)| is(*at, **byte))
            {
                return Some(found);
            }
        }
        at += 64;
    }
    None
}

/// Whether none of the next `N` places may be one; the last places of a text always may.
#[inline]
fn is_calm<const N: usize>(
    bytes: &[u8],
    at: usize,
    may: impl Fn(u8, u8, u8) -> bool + Copy,
) -> bool {
    let from = |at: usize| bytes.get(at..).and_then(<[u8]>::first_chunk::<N>);
    let (Some(first), Some(second), Some(third)) = (from(at), from(at + 1), from(at + 2)) else {
        return false;
    };
    let places = first.iter().zip(second).zip(third);
    !places.fold(false, |found, ((first, second), third)| found | may(*first, *second, *third))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn no_place_is_passed_over(
            text in "([a-y ]{0,70}|z){0,8}", from in 0_usize..40
        ) {
            let bytes = text.as_bytes();
            let found = next_place(bytes, from, |first, _, _| first == b'z', |at, _| bytes[at] == b'z');
            let naive = (from..bytes.len()).find(|at| bytes[*at] == b'z');
            prop_assert_eq!(found, naive);
        }
    }
}

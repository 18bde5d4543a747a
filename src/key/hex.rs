//! A UUID as text: 32 hex digits, or 36 characters with dashes, in lower case.

/// The two hex digits of every byte.
const DIGITS: [[u8; 2]; 256] = {
    let symbols = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [symbols[byte >> 4], symbols[byte & 15]];
        byte += 1;
    }
    table
};

/// The two hex digits of a byte.
#[inline]
pub fn digits(byte: u8) -> [u8; 2] {
    DIGITS[usize::from(byte)]
}

/// 32 hex digits without dashes.
#[inline]
pub fn simple(uuid: &[u8; 16]) -> [u8; 32] {
    let mut out = [0; 32];
    for (pair, byte) in out.chunks_exact_mut(2).zip(uuid) {
        pair.copy_from_slice(&digits(*byte));
    }
    out
}

/// 36 characters: groups of 8, 4, 4, 4 and 12 hex digits with dashes between them.
#[inline]
pub fn hyphenated(uuid: &[u8; 16]) -> [u8; 36] {
    let digits = simple(uuid);
    let mut out = [b'-'; 36];
    out[..8].copy_from_slice(&digits[..8]);
    out[9..13].copy_from_slice(&digits[8..12]);
    out[14..18].copy_from_slice(&digits[12..16]);
    out[19..23].copy_from_slice(&digits[16..20]);
    out[24..].copy_from_slice(&digits[20..]);
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use uuid::Uuid;

    use super::*;

    proptest! {
        #[test]
        fn the_text_is_what_the_uuid_crate_writes(bytes: [u8; 16]) {
            let uuid = Uuid::from_bytes(bytes);
            let (plain, dashed) = (uuid.simple().to_string(), uuid.hyphenated().to_string());
            prop_assert_eq!(&simple(&bytes)[..], plain.as_bytes());
            prop_assert_eq!(&hyphenated(&bytes)[..], dashed.as_bytes());
        }
    }
}

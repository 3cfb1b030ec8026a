//! The checksums of a packet: ICRC over the fields that no switch changes, VCRC over all. IBA 7.8.
//!
//! Both are written with the low byte first. *Not decided here*: which fields count as ones.

/// CRC-32 of Ethernet, reflected. IBA 7.8.1.
const ICRC_POLYNOMIAL: u32 = 0xEDB8_8320;
/// x^16 + x^12 + x^3 + x + 1, reflected. IBA 7.8.2.
const VCRC_POLYNOMIAL: u32 = 0xD008;

static ICRC_TABLE: [u32; 256] = remainder_table(ICRC_POLYNOMIAL);
static VCRC_TABLE: [u32; 256] = remainder_table(VCRC_POLYNOMIAL);

/// Returns the remainders of all bytes.
const fn remainder_table(polynomial: u32) -> [u32; 256] {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let (mut remainder, mut bit) = (byte as u32, 0);
        while bit < 8 {
            let low = remainder & 1;
            remainder >>= 1;
            if low == 1 {
                remainder ^= polynomial;
            }
            bit += 1;
        }
        table[byte] = remainder;
        byte += 1;
    }
    table
}

fn update(table: &[u32; 256], remainder: u32, bytes: &[u8]) -> u32 {
    let step = |remainder: u32, &byte: &u8| {
        let [low, ..] = remainder.to_le_bytes();
        table[usize::from(low ^ byte)] ^ remainder >> 8
    };
    bytes.iter().fold(remainder, step)
}

/// Returns the invariant checksum of the bytes of all parts, with variant fields as ones.
pub(super) fn icrc(parts: &[&[u8]]) -> u32 {
    let add = |remainder, part: &&[u8]| update(&ICRC_TABLE, remainder, part);
    !parts.iter().fold(u32::MAX, add)
}

/// Returns the variant checksum of a packet.
pub(super) fn vcrc(bytes: &[u8]) -> u16 {
    #[expect(clippy::cast_possible_truncation, reason = "a remainder of 16 bits")]
    let remainder = update(&VCRC_TABLE, 0xFFFF, bytes) as u16;
    !remainder
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of CRC-32 in catalogues of checksums.
    #[test]
    fn nine_digits() {
        assert_eq!(icrc(&[b"1234", b"56789"]), 0xCBF4_3926);
    }

    /// IBA and Linux start with the CRC state after eight bytes of ones.
    #[test]
    fn the_seed_stands_for_eight_bytes_of_ones() {
        assert_eq!(!icrc(&[&[0xFF; 8]]), 0xDEBB_20E3);
    }
}

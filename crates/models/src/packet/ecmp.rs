//! The choice among equal routes by a hash of the flow (equal-cost multi-path).

/// Returns the `MurmurHash3` of some bytes, 32 bits (Austin Appleby, public domain).
pub fn murmur3_32(bytes: &[u8], seed: u32) -> u32 {
    let scramble = |word: u32| {
        word.wrapping_mul(0xcc9e_2d51)
            .rotate_left(15)
            .wrapping_mul(0x1b87_3593)
    };
    let mut hash = seed;
    let mut words = bytes.chunks_exact(4);
    for word in &mut words {
        let word = [word[0], word[1], word[2], word[3]];
        hash ^= scramble(u32::from_le_bytes(word));
        hash = hash
            .rotate_left(13)
            .wrapping_mul(5)
            .wrapping_add(0xe654_6b64);
    }
    let rest = words.remainder().iter().rev();
    let tail = rest.fold(0, |tail, byte| tail << 8 | u32::from(*byte));
    hash ^= scramble(tail);
    hash ^= u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    hash = (hash ^ hash >> 16).wrapping_mul(0x85eb_ca6b);
    hash = (hash ^ hash >> 13).wrapping_mul(0xc2b2_ae35);
    hash ^ hash >> 16
}

/// Returns the hash of a flow: addresses of 4 bytes, then UDP ports, as switches see them.
pub fn flow_hash(source: u32, destination: u32, source_port: u16, destination_port: u16) -> u32 {
    let mut bytes = [0; 12];
    bytes[..4].copy_from_slice(&source.to_be_bytes());
    bytes[4..8].copy_from_slice(&destination.to_be_bytes());
    bytes[8..10].copy_from_slice(&source_port.to_be_bytes());
    bytes[10..].copy_from_slice(&destination_port.to_be_bytes());
    murmur3_32(&bytes, 0)
}

/// Returns the output of a switch, 0 to `outputs` - 1, for a flow; equal seeds choose equally.
pub fn ecmp_choice(flow_hash: u32, switch_seed: u32, outputs: usize) -> usize {
    murmur3_32(&flow_hash.to_be_bytes(), switch_seed) as usize % outputs
}

//! The counters of InfiniBand's link-level flow control: 12 bits, in blocks of 64 bytes.
//!
//! The sender counts the sent blocks (FCTBS), the receiver counts the received blocks (ABR). The
//! receiver publishes the limit FCCL = ABR + free blocks; the sender may send while FCTBS stays at
//! or below the limit. Differences are taken modulo 4096, so no more than 2048 blocks can be free.

use super::settings::CREDITS_MAX;

/// Values of the counters: 12 bits.
pub const COUNTER_MODULUS: u32 = 4096;

/// Returns the credit limit (FCCL) of a receiver.
pub const fn credit_limit(received: u32, free_blocks: u32) -> u32 {
    let free = if free_blocks < CREDITS_MAX {
        free_blocks
    } else {
        CREDITS_MAX
    };
    (received + free) % COUNTER_MODULUS
}

/// Returns true if a packet of some blocks may start: the rule of the standard.
pub const fn may_send(limit: u32, sent: u32, blocks: u32) -> bool {
    let after = (sent + blocks) % COUNTER_MODULUS;
    (limit + COUNTER_MODULUS - after) % COUNTER_MODULUS <= CREDITS_MAX
}

/// Returns the largest number of blocks that may be sent.
pub const fn blocks_allowed(limit: u32, sent: u32) -> u32 {
    let ahead = (limit + COUNTER_MODULUS - sent) % COUNTER_MODULUS;
    if ahead <= CREDITS_MAX { ahead } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_is_that_of_the_rule() {
        for sent in [0, 1, 2047, 2048, 4000, 4095] {
            for free in [0, 1, 64, 65, 2047, 2048, 5000] {
                let limit = credit_limit(sent, free);
                let allowed = blocks_allowed(limit, sent);
                assert_eq!(allowed, free.min(CREDITS_MAX));
                for blocks in 1..=65 {
                    let expected = blocks <= allowed;
                    assert_eq!(
                        may_send(limit, sent, blocks),
                        expected,
                        "{sent} {free} {blocks}"
                    );
                }
            }
        }
    }
}

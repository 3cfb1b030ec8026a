//! Static rate: a queue pair sends more slowly than its link.

/// Rates of the verbs enumeration, in Gb/s as they are named there (`enum ibv_rate`).
pub const STATIC_RATES_GBPS: [f64; 23] = [
    2.5, 5.0, 10.0, 14.0, 20.0, 25.0, 28.0, 30.0, 40.0, 50.0, 56.0, 60.0, 80.0, 100.0, 112.0,
    120.0, 168.0, 200.0, 300.0, 400.0, 600.0, 800.0, 1200.0,
];

/// Returns the gap after a packet, in picoseconds: wire time × (link rate / static rate - 1).
///
/// Other queue pairs use the gap. A static rate above that of the link has no effect.
#[must_use]
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    clippy::cast_precision_loss,
    reason = "a positive time far below 2^53 ps"
)]
pub fn static_rate_gap(wire_time: u64, link_rate: f64, static_rate: f64) -> u64 {
    let ratio = (link_rate / static_rate - 1.0).max(0.0);
    libm::round(wire_time as f64 * ratio) as u64
}

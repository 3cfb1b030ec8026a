//! Marking of congestion by the length of the queue (RED on the instantaneous queue).

/// Thresholds of the queue at which packets are marked.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EcnThresholds {
    /// Bytes below which no packet is marked.
    pub min: f64,
    /// Bytes above which every packet is marked.
    pub max: f64,
    /// Probability at the upper threshold.
    pub max_probability: f64,
}

impl EcnThresholds {
    /// Returns the thresholds of the DCQCN paper, for 40 Gb/s: 5 KB, 200 KB, 1 %.
    pub const fn sigcomm15() -> Self {
        Self {
            min: 5_000.0,
            max: 200_000.0,
            max_probability: 0.01,
        }
    }

    /// Returns the thresholds of HPCC's simulator: 100 and 400 KB per 25 Gb/s of the link, 20 %.
    pub fn hpcc(line_rate: f64) -> Self {
        let scale = line_rate / 25e9;
        Self {
            min: 100_000.0 * scale,
            max: 400_000.0 * scale,
            max_probability: 0.2,
        }
    }

    /// Returns the probability of a mark at a queue of `bytes`.
    pub fn probability(&self, bytes: f64) -> f64 {
        if bytes <= self.min {
            0.0
        } else if bytes > self.max {
            1.0
        } else {
            self.max_probability * (bytes - self.min) / (self.max - self.min)
        }
    }

    /// Returns the queue with a given probability, none above the largest of the slope.
    pub fn queue_at(&self, probability: f64) -> Option<f64> {
        let part = probability / self.max_probability;
        (part <= 1.0).then_some(self.min + part * (self.max - self.min))
    }
}

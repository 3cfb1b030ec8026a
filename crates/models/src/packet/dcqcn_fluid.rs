//! DCQCN as a fluid: its fixed point, and the time until flows become equal.
//!
//! The equations are from Zhu et al. (SIGCOMM 2015) with packets as the unit. *Not modelled*: hyper
//! increase, and the randomness of marks.

use super::ecn::EcnThresholds;

/// Parameters of the fluid equations.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DcqcnFluid {
    /// Capacity C of the link, in bits per second.
    pub capacity: f64,
    /// Number N of flows.
    pub flows: u32,
    /// Step of the additive increase, in bits per second.
    pub additive_increase: f64,
    /// Byte counter B.
    pub byte_counter: f64,
    /// Increase timer T, in seconds.
    pub timer: f64,
    /// Steps F of fast recovery.
    pub fast_recovery_steps: f64,
    /// Gain g.
    pub gain: f64,
    /// Interval of notifications, in seconds.
    pub notification_interval: f64,
    /// Alpha period, in seconds.
    pub alpha_period: f64,
    /// Marking thresholds, in bytes, and probability at the upper one.
    pub marking: EcnThresholds,
    /// Bytes of a packet.
    pub packet_bytes: f64,
}

/// The steady state of equal flows.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DcqcnFixedPoint {
    /// Probability that a packet is marked.
    pub marking_probability: f64,
    /// Alpha of each flow.
    pub alpha: f64,
    /// Queue in bytes; none if the probability is above the largest of the thresholds.
    pub queue: Option<f64>,
}

/// Rates of increase events per packet, at a marking probability.
struct IncreaseEvents {
    /// Of the byte counter and of the timer.
    all: f64,
    /// Of the events beyond fast recovery.
    additive: f64,
}

impl DcqcnFluid {
    fn packet_bits(&self) -> f64 {
        8.0 * self.packet_bytes
    }

    /// Returns the probability that at least one of the packets sent in `time` is marked.
    fn any_marked(time: f64, rate: f64, log_unmarked: f64) -> f64 {
        -libm::expm1(time * rate * log_unmarked)
    }

    fn increase_events(&self, probability: f64, rate: f64) -> IncreaseEvents {
        let log_unmarked = libm::log1p(-probability);
        // p / ((1-p)^-n - 1), which tends to 1/n for rare marks.
        let per_packet = |packets: f64| {
            if probability == 0.0 {
                1.0 / packets
            } else {
                probability / libm::expm1(-packets * log_unmarked)
            }
        };
        let unmarked = |packets: f64| libm::exp(packets * log_unmarked);
        let bytes = self.byte_counter / self.packet_bytes;
        let timer = self.timer * rate;
        let steps = self.fast_recovery_steps;
        let (by_bytes, by_timer) = (per_packet(bytes), per_packet(timer));
        IncreaseEvents {
            all: by_bytes + by_timer,
            additive: unmarked(steps * bytes) * by_bytes + unmarked(steps * timer) * by_timer,
        }
    }

    /// Returns the steady state.
    pub fn fixed_point(&self) -> DcqcnFixedPoint {
        let rate = self.capacity / f64::from(self.flows) / self.packet_bits();
        let step = self.additive_increase / self.packet_bits();
        let alpha =
            |probability: f64| Self::any_marked(self.alpha_period, rate, libm::log1p(-probability));
        // Decrease less increase of the target rate; it grows with the probability.
        let excess = |probability: f64| {
            let log_unmarked = libm::log1p(-probability);
            let interval = self.notification_interval;
            let notified = Self::any_marked(interval, rate, log_unmarked);
            let events = self.increase_events(probability, rate);
            let gap = alpha(probability) * notified / (interval * events.all);
            gap * notified / interval - step * rate * events.additive
        };
        let (mut low, mut high) = (1e-12, 0.5);
        for _ in 0..200 {
            let middle = f64::midpoint(low, high);
            if excess(middle) > 0.0 {
                high = middle;
            } else {
                low = middle;
            }
        }
        DcqcnFixedPoint {
            marking_probability: low,
            alpha: alpha(low),
            queue: self.marking.queue_at(low),
        }
    }

    /// Returns the time from which on the rates of two flows differ by less than `tolerance` of the
    /// fair share, and the queue at the end, in bytes; the flows begin with the given rates, in
    /// bits per second, and alpha 1.
    ///
    /// `delay` is the delay of the feedback, `horizon` the end of the integration, both in seconds;
    /// the step is 1 µs (Euler).
    pub fn convergence(
        &self,
        initial: [f64; 2],
        delay: f64,
        tolerance: f64,
        horizon: f64,
    ) -> (f64, f64) {
        const STEP: f64 = 1e-6;
        let capacity = self.capacity / self.packet_bits();
        let mut flows = initial.map(|rate| FluidFlow {
            rate: rate / self.packet_bits(),
            target: rate / self.packet_bits(),
            alpha: 1.0,
        });
        let mut queue = 0.0;
        let rates = |flows: &[FluidFlow; 2]| flows.map(|flow| flow.rate);
        let probability = |queue: f64| self.marking.probability(queue * self.packet_bytes);
        let steps = |seconds: f64| {
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a positive number of steps"
            )]
            let count = libm::round(seconds / STEP) as usize;
            count
        };
        let mut past = vec![(probability(queue), rates(&flows)); steps(delay).max(1)];
        let mut last_unequal = 0;
        for step in 0..steps(horizon) {
            let slot = step % past.len();
            let (marked, delayed) =
                std::mem::replace(&mut past[slot], (probability(queue), rates(&flows)));
            for (flow, delayed) in flows.iter_mut().zip(delayed) {
                self.advance_flow(flow, (marked, delayed), STEP);
            }
            let total: f64 = rates(&flows).iter().sum();
            queue = (queue + (total - capacity) * STEP).max(0.0);
            if (flows[0].rate - flows[1].rate).abs() > tolerance * capacity / 2.0 {
                last_unequal = step + 1;
            }
        }
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53 steps")]
        let time = last_unequal as f64 * STEP;
        (time, queue * self.packet_bytes)
    }

    fn advance_flow(&self, flow: &mut FluidFlow, (marked, delayed): (f64, f64), step: f64) {
        let capacity = self.capacity / self.packet_bits();
        let log_unmarked = libm::log1p(-marked);
        let events = self.increase_events(marked, delayed);
        let interval = self.notification_interval;
        let notified = Self::any_marked(interval, delayed, log_unmarked);
        let noticed = Self::any_marked(self.alpha_period, delayed, log_unmarked);
        let additive = self.additive_increase / self.packet_bits();
        let alpha = self.gain / self.alpha_period * (noticed - flow.alpha);
        let gap = flow.target - flow.rate;
        let target = additive * delayed * events.additive - gap / interval * notified;
        let rate =
            gap / 2.0 * delayed * events.all - flow.rate * flow.alpha / (2.0 * interval) * notified;
        flow.alpha += alpha * step;
        flow.target = (flow.target + target * step).min(capacity);
        flow.rate = (flow.rate + rate * step).min(capacity);
    }
}

/// State of a flow; rates are in packets per second.
#[derive(Clone, Copy, Debug)]
struct FluidFlow {
    rate: f64,
    target: f64,
    alpha: f64,
}

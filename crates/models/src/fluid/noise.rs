//! Noise of a platform: computations that take longer than their work, and transfers with more
//! latency.
//!
//! **Computations.** A computation that would take w alone on its host takes w·F, where F is
//! lognormal with mean 1 and the coefficient of variation c: F = exp(σZ − σ²/2), σ² = ln(1 + c²), Z
//! normal (A. Law, *Simulation Modeling and Analysis*, 6.2.2). With detours, the host does not
//! compute in [φ + kP, φ + kP + D) for each whole k: period P, detour D, and a phase φ that is
//! random and uniform for each host. A computation that begins x after the start of a detour waits
//! max(D − x, 0) and is then interrupted whenever a detour begins, so that a long computation takes
//! P / (P − D) times its work. If both are set, the factor is applied first.
//!
//! **Transfers** between two hosts pay an exponentially distributed latency for each link of the
//! route, in addition to the latency of the model.
//!
//! Each host and each direction of a link draws from a separate stream, named after the host or
//! link: noise of one does not change the draws of another.
//!
//! *Not modelled*: computations that share a core are stretched as if each were alone and the speed
//! constant, so detours during the additional time are not counted; all cores of a host stop
//! together. Parallel tasks, disks and the processor time of calls of the message layer have no
//! noise. A user sees the noise of a host in the computations of its ranks only.

use std::collections::BTreeMap;

use platform::{ComputeNoise, LinkId, Noise, Platform, Route};
use sim_core::{HostId, Span, Stream, Time, Work};

use super::FlowModel;
use super::dynamics::DynamicState;

/// The random streams of the noise of a platform.
#[derive(Debug)]
pub(super) struct NoiseStreams {
    seed: u64,
    hosts: BTreeMap<HostId, HostNoise>,
    links: BTreeMap<LinkId, Stream>,
    /// A buffer.
    route: Route,
}

/// Noise of one host.
#[derive(Debug)]
struct HostNoise {
    detours: Option<Detours>,
    variation: Option<Variation>,
}

/// Periodic detours, in seconds.
#[derive(Clone, Copy, Debug)]
struct Detours {
    period: f64,
    detour: f64,
    /// Start of a detour.
    phase: f64,
}

/// A lognormal factor.
#[derive(Debug)]
struct Variation {
    stream: Stream,
    /// Standard deviation of the logarithm.
    sigma: f64,
}

impl Detours {
    /// Returns the time by which detours delay the end of `work` seconds of computation that begin
    /// at `now`.
    fn delay(&self, now: f64, work: f64) -> f64 {
        let since_start = (now - self.phase).rem_euclid(self.period);
        let wait = (self.detour - since_start).max(0.0);
        let until_next = self.period - since_start - wait;
        let after = work - until_next;
        if after <= 0.0 {
            return wait;
        }
        wait + (after / (self.period - self.detour)).ceil() * self.detour
    }
}

impl Variation {
    fn factor(&mut self) -> f64 {
        libm::exp(self.sigma * (self.stream.normal() - 0.5 * self.sigma))
    }
}

impl HostNoise {
    fn new(compute: &ComputeNoise, name: &str, seed: u64) -> Self {
        let detours = compute.detours().map(|(period, detour)| {
            let mut stream = Stream::new(seed, &format!("noise/detours/{name}"));
            let phase = period * stream.uniform();
            Detours {
                period,
                detour,
                phase,
            }
        });
        let variation = compute.variation;
        let variation = (variation > 0.0).then(|| Variation {
            stream: Stream::new(seed, &format!("noise/variation/{name}")),
            sigma: libm::log1p(variation * variation).sqrt(),
        });
        Self { detours, variation }
    }

    /// Returns the time that `work` seconds of computation from `now` on take.
    fn duration(&mut self, now: f64, work: f64) -> f64 {
        let factor = self.variation.as_mut().map_or(1.0, Variation::factor);
        let work = work * factor;
        work + self.detours.map_or(0.0, |it| it.delay(now, work))
    }
}

impl FlowModel {
    /// Adds the noise of the platform to a model without running activities; the random streams
    /// derive from `seed`.
    #[must_use]
    pub fn with_noise(mut self, seed: u64) -> Self {
        if *self.platform.noise() != Noise::default() {
            self.noise = Some(Box::new(NoiseStreams {
                seed,
                hosts: BTreeMap::new(),
                links: BTreeMap::new(),
                route: Route::default(),
            }));
        }
        self
    }
}

impl NoiseStreams {
    /// Returns the latency that noise adds to an activity, and the work that replaces its work, if
    /// noise changes the work.
    #[inline(never)]
    pub(super) fn disturb(
        &mut self,
        platform: &Platform,
        dynamics: &DynamicState,
        work: &Work,
        now: Time,
    ) -> (Span, Option<Work>) {
        match *work {
            Work::Transfer { from, to, .. } => (self.latency(platform, from, to), None),
            _ => (Span::ZERO, self.disturbed(platform, dynamics, work, now)),
        }
    }

    /// Returns the computation with enough work to take, without noise, its time with noise.
    fn disturbed(
        &mut self,
        platform: &Platform,
        dynamics: &DynamicState,
        work: &Work,
        now: Time,
    ) -> Option<Work> {
        let &Work::Exec {
            host,
            threads,
            flops,
            priority,
            bound,
        } = work
        else {
            return None;
        };
        let rate = dynamics.speed(platform, host) * f64::from(threads);
        let alone = flops / rate.min(bound);
        if !(alone > 0.0 && alone.is_finite()) {
            // Nothing to do, or refused by the model.
            return None;
        }
        let noise = self.hosts.entry(host).or_insert_with(|| {
            let name = platform.host_name(host);
            HostNoise::new(&platform.noise().compute, &name, self.seed)
        });
        let flops = flops * (noise.duration(now.as_secs(), alone) / alone);
        Some(Work::Exec {
            host,
            threads,
            flops,
            priority,
            bound,
        })
    }

    /// Returns the latency that noise adds to a transfer.
    fn latency(&mut self, platform: &Platform, from: HostId, to: HostId) -> Span {
        let mean_s = platform.noise().links.latency_s();
        if mean_s <= 0.0 || from == to || platform.route_into(from, to, &mut self.route).is_err() {
            return Span::ZERO;
        }
        let mut sum = 0.0;
        for hop in &self.route.hops {
            let stream = self.links.entry(hop.link).or_insert_with(|| {
                let name = platform.link(hop.link).name;
                Stream::new(self.seed, &format!("noise/latency/{name}"))
            });
            sum += stream.exponential(mean_s);
        }
        Span::from_secs(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DETOURS: Detours = Detours {
        period: 10.0,
        detour: 2.0,
        phase: 3.0,
    };

    /// Steps through the detours one by one.
    fn stepped(now: f64, work: f64) -> f64 {
        let (mut at, mut left) = (now, work);
        for number in -3.. {
            let start = DETOURS.phase + f64::from(number) * DETOURS.period;
            if start + DETOURS.detour <= at {
                continue;
            }
            if at + left <= start {
                break;
            }
            left -= (start - at).max(0.0);
            at = start + DETOURS.detour;
        }
        at + left - now - work
    }

    #[test]
    fn the_delay_is_that_of_the_detours_one_by_one() {
        for begin in 0..40 {
            for work in 1..60 {
                let (now, work) = (f64::from(begin) * 0.75, f64::from(work) * 0.5);
                let (delay, expected) = (DETOURS.delay(now, work), stepped(now, work));
                assert!((delay - expected).abs() < 1e-9, "{now} {work}: {delay}");
            }
        }
    }

    #[test]
    fn factors_have_their_mean_and_variation() {
        let compute = ComputeNoise {
            variation: 0.25,
            ..ComputeNoise::default()
        };
        let mut noise = HostNoise::new(&compute, "a", 1);
        let count = 40_000;
        let factors: Vec<f64> = (0..count).map(|_| noise.duration(0.0, 1.0)).collect();
        let mean = factors.iter().sum::<f64>() / f64::from(count);
        let squares = factors.iter().map(|it| (it - mean) * (it - mean));
        let variation = (squares.sum::<f64>() / f64::from(count)).sqrt() / mean;
        assert!((mean - 1.0).abs() < 4.0 * 0.25 / 200.0, "{mean}");
        assert!((variation - 0.25).abs() < 0.01, "{variation}");
        assert!(factors.iter().all(|it| *it > 0.0));
    }
}

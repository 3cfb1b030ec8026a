//! DCQCN at the sender: the reaction point as a state machine without I/O and clock.
//!
//! There is no single "DCQCN default": parameters come from presets, which a result should name.
//! The rate is the rate of one queue pair; the caller paces packets with this rate.
//!
//! *Not modelled*: the division of the target by 8 at the first stage of one simulator.

/// Time of the alpha update and the rate cut.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CutRule {
    /// Each notification cuts with the old alpha, then raises alpha (SIGCOMM 2015).
    PerNotification,
    /// Notifications set flags: alpha is updated each alpha period, and the rate is cut at most
    /// once per this interval, in picoseconds (firmware, HPCC's simulator).
    PerInterval(u64),
}

/// The rule by which a cut lowers the target rate to the current one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TargetClamp {
    /// At every cut.
    Always,
    /// Unless the last change was a cut as well.
    AfterIncrease,
}

/// Parameters of DCQCN; rates are in bits per second, times in picoseconds.
#[derive(Clone, PartialEq, Debug)]
pub struct DcqcnParameters {
    /// Name of the preset.
    pub preset: &'static str,
    /// Rate of the link.
    pub line_rate: f64,
    /// Gain g of alpha.
    pub gain: f64,
    /// Alpha at the first notification.
    pub initial_alpha: f64,
    /// Period after which alpha decreases without a notification.
    pub alpha_period_ps: u64,
    /// Time of the cut.
    pub cut: CutRule,
    /// Rule of the target rate.
    pub clamp: TargetClamp,
    /// Period T of the increase timer.
    pub timer_ps: u64,
    /// Bytes B of the increase counter; none if there is no counter.
    pub byte_counter: Option<u64>,
    /// Steps F of fast recovery.
    pub fast_recovery_steps: u32,
    /// Step of the additive increase.
    pub additive_increase: f64,
    /// Step of the hyper increase.
    pub hyper_increase: f64,
    /// Lowest rate.
    pub min_rate: f64,
    /// Least factor of one cut.
    pub min_cut_factor: f64,
    /// Shortest time between two notifications of a receiver.
    pub notification_interval_ps: u64,
}

const MICROSECOND: u64 = 1_000_000;

impl DcqcnParameters {
    /// Returns the parameters of the paper (Zhu et al., SIGCOMM 2015).
    pub const fn sigcomm15(line_rate: f64) -> Self {
        Self {
            preset: "sigcomm15",
            line_rate,
            gain: 1.0 / 256.0,
            initial_alpha: 1.0,
            alpha_period_ps: 55 * MICROSECOND,
            cut: CutRule::PerNotification,
            clamp: TargetClamp::Always,
            timer_ps: 55 * MICROSECOND,
            byte_counter: Some(10_000_000),
            fast_recovery_steps: 5,
            additive_increase: 40e6,
            // The paper has no figure: that of the authors' simulator.
            hyper_increase: 200e6,
            min_rate: 0.0,
            min_cut_factor: 0.5,
            notification_interval_ps: 50 * MICROSECOND,
        }
    }

    /// Returns the configuration of HPCC's simulator (alibaba-edu, `config.txt`).
    pub const fn hpcc(line_rate: f64) -> Self {
        Self {
            preset: "hpcc",
            alpha_period_ps: MICROSECOND,
            cut: CutRule::PerInterval(4 * MICROSECOND),
            clamp: TargetClamp::AfterIncrease,
            timer_ps: 900 * MICROSECOND,
            byte_counter: None,
            fast_recovery_steps: 1,
            additive_increase: 50e6,
            hyper_increase: 100e6,
            min_rate: 100e6,
            notification_interval_ps: 0,
            ..Self::sigcomm15(line_rate)
        }
    }

    /// Returns the defaults of NVIDIA firmware (DOCA documentation, mlxconfig).
    ///
    /// The unit of the byte counter of the firmware is unknown, so this preset has no byte counter.
    pub const fn nvidia(line_rate: f64) -> Self {
        Self {
            preset: "nvidia",
            gain: 5.0 / 1024.0,
            initial_alpha: 1023.0 / 1024.0,
            timer_ps: 300 * MICROSECOND,
            additive_increase: 5e6,
            hyper_increase: 50e6,
            min_rate: 1e6,
            notification_interval_ps: 4 * MICROSECOND,
            ..Self::hpcc(line_rate)
        }
    }
}

/// The rate limiter of a queue pair.
#[derive(Clone, Debug)]
pub struct ReactionPoint {
    parameters: DcqcnParameters,
    /// `None` while the queue pair sends at line rate, before the first notification.
    limiter: Option<Limiter>,
}

#[derive(Clone, Debug)]
struct Limiter {
    rate: f64,
    target: f64,
    alpha: f64,
    /// True if a notification came in this alpha period.
    is_notified: bool,
    /// True if a cut is due at the end of the interval.
    is_cut_due: bool,
    /// True if the last change of the rate was a cut.
    was_cut: bool,
    last_cut: Option<u64>,
    alpha_at: u64,
    timer_at: u64,
    timer_stage: u32,
    byte_stage: u32,
    bytes: u64,
}

impl ReactionPoint {
    /// Returns the reaction point of a queue pair that has had no notification.
    pub const fn new(parameters: DcqcnParameters) -> Self {
        Self {
            parameters,
            limiter: None,
        }
    }

    /// Returns the rate at which the queue pair may send, in bits per second.
    pub fn rate(&self) -> f64 {
        let line_rate = self.parameters.line_rate;
        self.limiter
            .as_ref()
            .map_or(line_rate, |limiter| limiter.rate)
    }

    /// Returns alpha, the estimate of congestion.
    pub fn alpha(&self) -> f64 {
        let initial = self.parameters.initial_alpha;
        self.limiter
            .as_ref()
            .map_or(initial, |limiter| limiter.alpha)
    }

    /// Returns the factor by which a cut would change the rate now.
    pub fn cut_factor(&self) -> f64 {
        (1.0 - self.alpha() / 2.0).max(self.parameters.min_cut_factor)
    }

    /// Handles a congestion notification packet.
    pub fn on_notification(&mut self, now: u64) {
        let parameters = &self.parameters;
        let limiter = self.limiter.get_or_insert_with(|| Limiter {
            rate: parameters.line_rate,
            target: parameters.line_rate,
            alpha: parameters.initial_alpha,
            is_notified: false,
            is_cut_due: false,
            was_cut: false,
            last_cut: None,
            alpha_at: now + parameters.alpha_period_ps,
            timer_at: now + parameters.timer_ps,
            timer_stage: 0,
            byte_stage: 0,
            bytes: 0,
        });
        match parameters.cut {
            CutRule::PerNotification => {
                limiter.cut_rate(parameters, now);
                limiter.raise_alpha(parameters);
                limiter.alpha_at = now + parameters.alpha_period_ps;
            }
            CutRule::PerInterval(interval) => {
                // The first notification sets alpha, and does not raise it as well.
                limiter.is_notified = limiter.last_cut.is_some();
                limiter.is_cut_due = true;
                if limiter.last_cut.is_none_or(|last| last + interval <= now) {
                    limiter.cut_rate(parameters, now);
                }
            }
        }
    }

    /// Counts bytes sent.
    pub fn on_bytes_sent(&mut self, bytes: u64) {
        let (Some(limiter), Some(every)) = (&mut self.limiter, self.parameters.byte_counter) else {
            return;
        };
        limiter.bytes += bytes;
        while limiter.bytes >= every {
            limiter.bytes -= every;
            limiter.increase(&self.parameters);
            limiter.byte_stage += 1;
        }
    }

    /// Returns the time of the next timer.
    pub fn next_event_at(&self) -> Option<u64> {
        let limiter = self.limiter.as_ref()?;
        let cut_at = self.cut_at(limiter).unwrap_or(u64::MAX);
        Some(limiter.alpha_at.min(limiter.timer_at).min(cut_at))
    }

    /// Handles all timers up to `now`; at one time the cut, then alpha, then the increase.
    pub fn handle_events(&mut self, now: u64) {
        while let Some(time) = self.next_event_at().filter(|time| *time <= now) {
            let cut_at = self
                .limiter
                .as_ref()
                .and_then(|limiter| self.cut_at(limiter));
            let (Some(limiter), parameters) = (&mut self.limiter, &self.parameters) else {
                return;
            };
            if cut_at == Some(time) {
                limiter.cut_rate(parameters, time);
            } else if limiter.alpha_at == time {
                limiter.alpha_at += parameters.alpha_period_ps;
                if std::mem::take(&mut limiter.is_notified) {
                    limiter.raise_alpha(parameters);
                } else {
                    limiter.alpha *= 1.0 - parameters.gain;
                }
            } else {
                limiter.timer_at += parameters.timer_ps;
                limiter.increase(parameters);
                limiter.timer_stage += 1;
            }
        }
    }

    /// Returns the time of the cut that is due.
    fn cut_at(&self, limiter: &Limiter) -> Option<u64> {
        match self.parameters.cut {
            CutRule::PerInterval(interval) if limiter.is_cut_due => {
                limiter.last_cut.map(|last| last + interval)
            }
            _ => None,
        }
    }
}

impl Limiter {
    fn raise_alpha(&mut self, parameters: &DcqcnParameters) {
        self.alpha = (1.0 - parameters.gain) * self.alpha + parameters.gain;
    }

    fn cut_rate(&mut self, parameters: &DcqcnParameters, now: u64) {
        if parameters.clamp == TargetClamp::Always || !self.was_cut {
            self.target = self.rate;
        }
        let factor = (1.0 - self.alpha / 2.0).max(parameters.min_cut_factor);
        self.rate = (self.rate * factor).max(parameters.min_rate);
        self.was_cut = true;
        self.is_cut_due = false;
        self.last_cut = Some(now);
        self.timer_at = now + parameters.timer_ps;
        (self.timer_stage, self.byte_stage, self.bytes) = (0, 0, 0);
    }

    /// Raises the rate after an event of the timer or the byte counter.
    fn increase(&mut self, parameters: &DcqcnParameters) {
        let steps = parameters.fast_recovery_steps;
        let (least, most) = match parameters.byte_counter {
            Some(_) => (
                self.timer_stage.min(self.byte_stage),
                self.timer_stage.max(self.byte_stage),
            ),
            // Without a counter the stage of the timer decides: below F fast, at F additive.
            None => (self.timer_stage.saturating_sub(1), self.timer_stage),
        };
        if least >= steps {
            self.target += f64::from(least - steps + 1) * parameters.hyper_increase;
        } else if most >= steps {
            self.target += parameters.additive_increase;
        }
        self.target = self.target.min(parameters.line_rate);
        self.rate = f64::midpoint(self.rate, self.target);
        self.was_cut = false;
    }
}

//! The page of text about an analysis: the most important thing first, at most 60 lines.

use std::fmt;

use super::backward::Sensitivity;
use super::class::Class;
use super::result::{AnalysisReport, WaitState};

/// Number of wait states on the page.
const WAITS: usize = 8;

/// Smallest share on the page, in percent: shares are rounded to 0.1 %.
const SHOWN: f64 = 0.05;

/// Number of places of the critical path on the page.
const PLACES: usize = 5;

/// Number of derivatives on the page.
const DERIVATIVES: usize = 3;

/// Smallest share of delay costs and slack on the page, in percent.
const IMPORTANT: f64 = 1.0;

impl fmt::Display for AnalysisReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.headline(f)?;
        if !self.whole {
            let end = seconds(self.end_s);
            writeln!(f, "  log truncated at {end}")?;
        }
        for note in &self.notes {
            writeln!(f, "  {note}")?;
        }
        if self.end_s <= 0.0 {
            // There are no shares of no time.
            return self.list_blocked(f);
        }
        self.write_split(f)?;
        self.list_waits(f)?;
        self.write_critical_path(f)?;
        self.causes(f)?;
        self.list_efficiencies(f)?;
        self.list_regions(f)
    }
}

impl AnalysisReport {
    /// Returns a time as a part of the time of the run; 0 of a run without time.
    pub(super) fn run_share(&self, seconds: f64) -> f64 {
        if self.end_s > 0.0 {
            seconds / self.end_s
        } else {
            0.0
        }
    }

    /// Returns a time of one rank as a share of the time of the run, in percent.
    fn percent(&self, seconds: f64) -> f64 {
        100.0 * self.run_share(seconds)
    }

    /// Returns a sum over all ranks as a share of their time, in percent.
    fn percent_of_all(&self, sum: f64) -> f64 {
        self.percent(sum / f64::from(self.ranks.max(1)))
    }

    /// Returns the number of ranks that are blocked at the end of the run. The true number may be
    /// higher, as not all waits are listed.
    pub(crate) fn blocked_ranks(&self) -> u64 {
        self.blocked().map(|wait| wait.count).sum()
    }

    fn blocked(&self) -> impl Iterator<Item = &WaitState> {
        let waits = self.waits.iter();
        waits.filter(|wait| wait.class == Class::Blocked)
    }

    /// Lists the calls that wait at the end, by their numbers of ranks.
    fn list_blocked(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut listed: Vec<&WaitState> = self.blocked().collect();
        listed.sort_by_key(|wait| std::cmp::Reverse(wait.count));
        for wait in listed.iter().take(WAITS) {
            writeln!(f, "  {:>5}  in {}, {}", wait.count, wait.call, wait.place)?;
        }
        Ok(())
    }

    fn headline(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.end_s <= 0.0 {
            return match self.blocked_ranks() {
                0 => writeln!(f, "the run takes no time"),
                blocked => {
                    let ranks = self.ranks;
                    writeln!(
                        f,
                        "the run ends at time 0: {blocked} of {ranks} ranks are blocked"
                    )
                }
            };
        }
        let waits = self.waits.iter();
        let greatest = waits.max_by(|one, other| one.seconds.total_cmp(&other.seconds));
        let compute = self.mean_s.get("compute").copied().unwrap_or(0.0);
        let Some(wait) = greatest else {
            let share = self.percent(compute);
            return writeln!(f, "no rank waits for another; {share:.0} % is computation");
        };
        let share = self.percent_of_all(wait.seconds);
        write!(
            f,
            "{share:.0} % of the time of all ranks is {} in {}, {}",
            wait.class.name(),
            wait.call,
            wait.place
        )?;
        match wait.longest_causer {
            Some(causer) => write!(
                f,
                ": rank {} waits {} for rank {causer}",
                wait.longest_rank,
                seconds(wait.longest_s)
            )?,
            None => write!(
                f,
                ", longest at rank {} ({})",
                wait.longest_rank,
                seconds(wait.longest_s)
            )?,
        }
        if wait.causer_call.is_empty() {
            return writeln!(f);
        }
        writeln!(f, " in {}, {}", wait.causer_call, wait.causer_place)
    }

    fn write_split(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let end = seconds(self.end_s);
        writeln!(f, "\ntime of the ranks, of {end}\n")?;
        writeln!(f, "  {:<26}{:>8}{:>16}  rank", "", "mean", "greatest")?;
        for class in Class::ALL {
            let Some(mean) = self.mean_s.get(class.name()) else {
                continue;
            };
            let ranks = self.times.times_in_class(class).zip(0_u32..);
            let most = ranks.max_by(|one, other| one.0.total_cmp(&other.0));
            let (most, rank) = most.unwrap_or((0.0, 0));
            let (mean, share) = (self.percent(*mean), self.percent(most));
            let name = class.name();
            writeln!(f, "  {name:<26}{mean:>7.1}%{share:>15.1}%  {rank}")?;
        }
        Ok(())
    }

    fn list_waits(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = |wait: &&WaitState| self.percent_of_all(wait.seconds) >= SHOWN;
        let listed: Vec<&WaitState> = self.waits.iter().filter(counts).take(WAITS).collect();
        if listed.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nwaits, by their share of the time of all ranks\n")?;
        for wait in listed {
            let share = self.percent_of_all(wait.seconds);
            write!(
                f,
                "  {share:>5.1}%  {} in {}, {}",
                wait.class.name(),
                wait.call,
                wait.place
            )?;
            if !wait.causer_call.is_empty() {
                write!(
                    f,
                    "\n          for a rank in {}, {}",
                    wait.causer_call, wait.causer_place
                )?;
            }
            writeln!(f)?;
        }
        Ok(())
    }

    fn write_critical_path(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let packets = self.critical_packets;
        writeln!(f, "\ncritical path, with {packets} packets\n")?;
        for (name, time) in &self.critical_path_s {
            if self.percent(*time) >= SHOWN {
                writeln!(f, "  {:>5.1}%  {name}", self.percent(*time))?;
            }
        }
        for place in self.critical_places.iter().take(PLACES) {
            let share = self.percent(place.seconds);
            let (call, line) = (&place.call, &place.place);
            match place.rank {
                Some(rank) if call.is_empty() => {
                    writeln!(f, "  {share:>5.1}%  rank {rank} before its first call")?;
                }
                Some(rank) => writeln!(f, "  {share:>5.1}%  rank {rank} in {call}, {line}")?,
                None => writeln!(f, "  {share:>5.1}%  transfer for {call}, {line}")?,
            }
        }
        if self.choices > 0 {
            let note = "receives from any source, tests and probes: messages in another order may give another path";
            writeln!(f, "  {} {note}", self.choices)?;
        }
        Ok(())
    }

    /// Lists derivatives, and the greatest delay cost and slack.
    fn causes(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(backward) = &self.backward else {
            return Ok(());
        };
        let counts = |one: &&Sensitivity| self.percent(one.seconds.abs()) >= SHOWN;
        let all = backward.derivatives.iter().filter(counts);
        let listed: Vec<String> = all
            .take(DERIVATIVES)
            .map(|one| {
                format!(
                    "{:+.2} % by {}",
                    self.percent(one.seconds) / 100.0,
                    one.name()
                )
            })
            .collect();
        if !listed.is_empty() {
            writeln!(f, "  for 1 % more: {}", listed.join(", "))?;
        }
        let unbalanced = self.imbalance.first();
        if let Some(most) = unbalanced.filter(|most| 100.0 * most.part >= IMPORTANT) {
            let (name, percent) = (most.name(), 100.0 * most.part);
            writeln!(f, "  balance of {name} would save {percent:.1} % at most")?;
        }
        let greatest = backward.delay_costs.first();
        let cost = greatest.filter(|cost| self.percent_of_all(cost.seconds()) >= IMPORTANT);
        if let Some(cost) = cost {
            let share = self.percent_of_all(cost.seconds());
            write!(f, "\ngreatest cause of waits: rank {}", cost.rank)?;
            if cost.call.is_empty() {
                write!(f, " between its calls")?;
            } else {
                write!(f, " in {}, {}", cost.call, cost.place)?;
            }
            write!(f, ", for {share:.1} % of the time of all ranks")?;
            if self.percent_of_all(cost.indirect_s) >= SHOWN {
                let share = 100.0 * cost.indirect_s / cost.seconds();
                write!(f, ", {share:.0} % of it through other ranks")?;
            }
            writeln!(f)?;
        }
        let calls = backward.slack.iter().filter(|row| row.of == "call");
        let freest = calls.max_by(|one, other| one.least_s.total_cmp(&other.least_s));
        if let Some(row) = freest.filter(|row| self.percent(row.least_s) >= IMPORTANT) {
            let (time, call, place) = (seconds(row.least_s), &row.call, &row.place);
            writeln!(f, "\nslack: each {call}, {place} can end {time} later")?;
        }
        Ok(())
    }

    fn list_efficiencies(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all = self.efficiencies;
        let (Some(parallel), Some(balance), Some(communication)) =
            (all.parallel, all.load_balance, all.communication)
        else {
            return Ok(());
        };
        writeln!(
            f,
            "\nparallel efficiency {parallel:.2} = load balance {balance:.2} × communication {communication:.2}"
        )?;
        if let (Some(serialisation), Some(transfer)) = (all.serialisation, all.transfer) {
            writeln!(
                f,
                "communication = serialisation {serialisation:.2} × transfer {transfer:.2}"
            )?;
        }
        if all.program_differs {
            let note = "serialisation and transfer: the program computes something else on an ideal network";
            writeln!(f, "{note}")?;
        }
        Ok(())
    }

    fn list_regions(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.regions_s.is_empty() {
            return Ok(());
        }
        writeln!(f, "\nregions, mean over the ranks\n")?;
        for (region, split) in &self.regions_s {
            let whole: f64 = split.values().sum();
            let greatest = split.iter().max_by(|one, other| one.1.total_cmp(other.1));
            let (class, most) = greatest.map_or(("", 0.0), |(class, most)| (*class, *most));
            let (share, part) = (self.percent(whole), self.percent(most));
            writeln!(f, "  {share:>5.1}%  {region}, of it {part:.1}% {class}")?;
        }
        Ok(())
    }
}

/// Returns a suitable unit for a time in seconds, and the number of these units in a second.
pub(crate) fn unit_of(time: f64) -> (f64, &'static str) {
    match time.abs() {
        time if time >= 1.0 || time == 0.0 => (1.0, "s"),
        time if time >= 1e-3 => (1e3, "ms"),
        time if time >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    }
}

/// Formats a time with a suitable unit.
pub(crate) fn seconds(time: f64) -> String {
    let (scale, unit) = unit_of(time);
    format!("{:.3} {unit}", time * scale)
}

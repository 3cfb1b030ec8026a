//! A model with the part of a kernel that a test needs: a clock, and numbers for activities.

use std::rc::Rc;
use std::sync::Arc;

use models::FlowModel;
use platform::profile::{Change, Profile};
use platform::{LinkId, Platform};
use sim_core::{ActivityId, End, HostId, Io, ParallelWork, Resource, StartError, Time, Work};

/// No limit of the rate.
pub const UNLIMITED: f64 = f64::INFINITY;

/// A platform at work. Activities are numbered from 0 in the order in which they start.
pub struct Lab {
    platform: Arc<Platform>,
    model: FlowModel,
    now: Time,
    count: u32,
}

impl Lab {
    /// Returns the idle platform of this text.
    pub fn new(text: &str) -> Self {
        let platform = Platform::parse("test.toml", text).unwrap_or_else(|error| panic!("{error}"));
        Self::from_platform(platform)
    }

    /// Returns this platform, idle.
    pub fn from_platform(platform: Platform) -> Self {
        let platform = Arc::new(platform);
        Self {
            model: FlowModel::new(Arc::clone(&platform)),
            platform,
            now: Time::ZERO,
            count: 0,
        }
    }

    /// Returns the platform that the text describes.
    pub fn platform(&self) -> &Platform {
        &self.platform
    }

    /// The host called so.
    pub fn host(&self, name: &str) -> HostId {
        self.platform.host_by_name(name).expect("a host")
    }

    /// Starts anything.
    pub fn start(&mut self, work: &Work) -> ActivityId {
        self.try_start(work)
            .unwrap_or_else(|error| panic!("{error}"))
    }

    /// Starts anything that may be refused.
    pub fn try_start(&mut self, work: &Work) -> Result<ActivityId, StartError> {
        let id = ActivityId {
            number: u64::from(self.count),
            slot: self.count,
        };
        self.count += 1;
        self.model.start(id, work, self.now)?;
        Ok(id)
    }

    /// Starts a computation with threads, each of `flops` flop.
    pub fn threads(&mut self, host: &str, threads: u32, flops: f64) -> ActivityId {
        let host = self.host(host);
        self.start(&Work::Exec {
            host,
            threads,
            flops: f64::from(threads) * flops,
            priority: 1.0,
            bound: UNLIMITED,
        })
    }

    /// Starts an operation on a disk.
    pub fn io(
        &mut self,
        (host, disk): (&str, &str),
        operation: Io,
        bytes: f64,
        priority: f64,
    ) -> ActivityId {
        let disk = self.platform.disk_by_name(self.host(host), disk);
        self.start(&Work::Io {
            disk: disk.expect("a disk"),
            operation,
            bytes,
            priority,
        })
    }

    /// Starts a parallel task.
    pub fn task(&mut self, hosts: &[&str], flops: &[f64], bytes: &[f64]) -> ActivityId {
        let hosts = hosts.iter().map(|host| self.host(host)).collect();
        let work = ParallelWork::new(hosts, flops.to_vec(), bytes.to_vec());
        self.start(&Work::Parallel(Rc::new(work.expect("a task"))))
    }

    /// Starts a transfer.
    pub fn send(&mut self, from: &str, to: &str, bytes: f64) -> ActivityId {
        self.send_at_most(from, to, bytes, UNLIMITED)
    }

    /// Starts a transfer with a separate rate limit.
    pub fn send_at_most(&mut self, from: &str, to: &str, bytes: f64, rate: f64) -> ActivityId {
        let (from, to) = (self.host(from), self.host(to));
        self.start(&Work::Transfer {
            from,
            to,
            bytes,
            rate,
        })
    }

    /// Starts a computation.
    pub fn exec(&mut self, host: &str, flops: f64, priority: f64, bound: f64) -> ActivityId {
        let host = self.host(host);
        self.start(&Work::Exec {
            host,
            threads: 1,
            flops,
            priority,
            bound,
        })
    }

    /// The first link between two hosts.
    pub fn link(&self, from: &str, to: &str) -> LinkId {
        let route = self.platform.route(self.host(from), self.host(to));
        route.expect("a route").hops[0].link
    }

    /// Applies a change now.
    pub fn change(&mut self, change: Change) {
        self.model.apply_change(change, self.now);
    }

    /// Applies the changes of a profile at their dates.
    pub fn add_profile(&mut self, profile: Profile) {
        self.model.add_profile(profile);
    }

    /// The model itself.
    pub fn model(&mut self) -> (&mut FlowModel, Time) {
        (&mut self.model, self.now)
    }

    /// Returns the work that is left of an activity now.
    pub fn remaining(&mut self, id: ActivityId) -> f64 {
        self.model.remaining(id, self.now)
    }

    /// Moves to `seconds`; no activity may end before that date.
    pub fn wait_until(&mut self, seconds: f64) {
        let target = Time::from_secs(seconds);
        while let Some(date) = self
            .model
            .next_event(self.now, self.now)
            .filter(|date| *date <= target)
        {
            let mut ended = Vec::new();
            self.now = date;
            self.model.advance(date, &mut ended);
            assert_eq!(ended, [], "at {date}");
        }
        self.now = target;
    }

    /// Moves to the next date at which activities end: the date, and their numbers.
    pub fn next_end(&mut self) -> Option<(f64, Vec<u64>)> {
        let (date, ended) = self.next_end_of_any_kind()?;
        assert!(ended.iter().all(|(_, end)| *end == End::Done));
        Some((date, ended.into_iter().map(|(number, _)| number).collect()))
    }

    /// Moves to the next date at which activities end: the date, and their numbers and ends.
    pub fn next_end_of_any_kind(&mut self) -> Option<(f64, Vec<(u64, End)>)> {
        self.ends_until(f64::INFINITY)
    }

    /// Moves to the next date up to `seconds` at which activities end: the date, and their numbers.
    pub fn next_end_until(&mut self, seconds: f64) -> Option<(f64, Vec<u64>)> {
        let (date, ended) = self.ends_until(seconds)?;
        Some((date, ended.into_iter().map(|(number, _)| number).collect()))
    }

    fn ends_until(&mut self, seconds: f64) -> Option<(f64, Vec<(u64, End)>)> {
        let mut ended = Vec::new();
        while ended.is_empty() {
            let date = self.model.next_event(self.now, self.now)?;
            assert!(date >= self.now);
            if date.as_secs() > seconds {
                return None;
            }
            self.now = date;
            self.model.advance(date, &mut ended);
        }
        let mut numbers: Vec<(u64, End)> =
            ended.iter().map(|(id, end)| (id.number, *end)).collect();
        numbers.sort_unstable();
        Some((self.now.as_secs(), numbers))
    }

    /// The next ends are these dates, up to a relative error, with these numbers; more may follow.
    #[track_caller]
    pub fn expect_first(&mut self, ends: &[(f64, &[u64])], tolerance: f64) {
        for (date, numbers) in ends {
            let (found, ended) = self.next_end().expect("something ends");
            assert!(
                (found - date).abs() <= tolerance * date,
                "{found} instead of {date}"
            );
            assert_eq!(ended, *numbers);
        }
    }

    /// The ends of everything are these.
    #[track_caller]
    pub fn expect(&mut self, ends: &[(f64, &[u64])], tolerance: f64) {
        self.expect_first(ends, tolerance);
        assert_eq!(self.next_end(), None);
    }
}

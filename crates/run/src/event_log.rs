//! The event log of a simulated run: the events of the ranks, with timestamps in simulated time.

use std::fmt;
use std::io::{self, BufWriter, Write};
use std::rc::Rc;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use observe::{
    IncidentPlace, Link, LinkSharing, LogWriter, NetworkEvent, NetworkObserver, Observer,
    ProgramEvent,
};
use platform::{HostId, LinkId, Platform, Sharing};
use sim_core::KernelHandle;

use crate::profile::{Inside, Layer, Profile};

/// Size of the buffer of a log in bytes.
const BUFFER: usize = 256 * 1024;

type Writer = LogWriter<BufWriter<Box<dyn Write + Send>>>;

/// An event log that a run writes. One thread writes the log; another thread may end the log when a
/// rank never awaits.
#[derive(Clone, Debug)]
pub struct EventLog(Arc<Mutex<Option<OpenLog>>>);

/// A log that is being written.
#[derive(Debug)]
struct OpenLog {
    writer: Writer,
    /// Hosts and their ranks, in ascending order.
    hosts: Vec<(HostId, u32)>,
}

impl OpenLog {
    /// Writes an event of the network of a platform at a time in seconds.
    fn write_network_event(
        &mut self,
        time: f64,
        event: &NetworkEvent<&[u32]>,
        platform: &Platform,
    ) {
        if let NetworkEvent::Incident {
            at: IncidentPlace::Host(host),
            name,
            peer,
            value,
        } = *event
        {
            let host = HostId(host);
            let first = self.hosts.partition_point(|(own, _)| *own < host);
            let ranks = self.hosts[first..].iter();
            for &(_, rank) in ranks.take_while(|(own, _)| *own == host) {
                let event = ProgramEvent::Incident { name, peer, value };
                self.writer.event(rank, time, event);
            }
        } else {
            let describe = |link| described(platform, link);
            self.writer.network(time, event, describe);
        }
    }
}

impl EventLog {
    /// Begins a log of a run of this many ranks.
    pub fn new(out: Box<dyn Write + Send>, ranks: u32) -> Self {
        let out = BufWriter::with_capacity(BUFFER, out);
        let writer = LogWriter::new(out, ranks);
        let hosts = Vec::new();
        Self(Arc::new(Mutex::new(Some(OpenLog { writer, hosts }))))
    }

    fn lock_log(&self) -> MutexGuard<'_, Option<OpenLog>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Writes the hosts of the ranks.
    pub(crate) fn write_hosts(&self, platform: &Platform, hosts: &[HostId]) {
        let Some(OpenLog { writer, hosts: own }) = &mut *self.lock_log() else {
            return;
        };
        own.extend(hosts.iter().copied().zip(0..));
        own.sort_unstable();
        // Numbers in the log by those of the platform.
        let mut known: Vec<Option<u32>> = Vec::new();
        for (rank, &host) in (0..).zip(hosts) {
            let at = host.0 as usize;
            if at >= known.len() {
                known.resize(at + 1, None);
            }
            let name = || writer.write_host_name(&platform.host_name(host));
            let number = known[at].unwrap_or_else(name);
            known[at] = Some(number);
            writer.write_host(rank, number);
        }
    }

    /// Returns the observer of the ranks.
    pub(crate) fn rank_observer(
        &self,
        clock: KernelHandle,
        profile: Option<Arc<Profile>>,
    ) -> Rc<dyn Observer> {
        let log = self.clone();
        Rc::new(RankLog {
            log,
            profile,
            clock,
        })
    }

    /// Returns the observer of the network of a platform.
    pub(crate) fn network_observer(
        &self,
        platform: &Arc<Platform>,
        profile: Option<&Arc<Profile>>,
    ) -> NetworkObserver {
        let (log, platform) = (self.clone(), Arc::clone(platform));
        let profile = profile.cloned();
        NetworkObserver::new(move |time, event| {
            let _inside = inside(profile.as_ref());
            if let Some(log) = &mut *log.lock_log() {
                log.write_network_event(time, &event, &platform);
            }
        })
    }

    /// Ends the log at a time in seconds. Returns the number of records.
    pub fn finish_log(&self, time: f64) -> io::Result<u64> {
        let Some(OpenLog { writer, .. }) = self.lock_log().take() else {
            return Ok(0);
        };
        let records = writer.records();
        writer.finish(time).map(|_| records)
    }
}

/// Returns a link in the format of the log.
fn described(platform: &Platform, link: u32) -> Link {
    let info = platform.link(LinkId(link));
    Link {
        name: info.name,
        bandwidth: info.bandwidth,
        latency_s: info.latency.as_secs(),
        sharing: match info.sharing {
            Sharing::SplitDuplex => LinkSharing::Directed,
            Sharing::FatPipe => LinkSharing::Fatpipe,
            Sharing::Shared | Sharing::Wifi => LinkSharing::Shared,
        },
    }
}

/// Notes that the observer is at work, if the run is profiled.
fn inside(profile: Option<&Arc<Profile>>) -> Option<Inside<'_>> {
    profile.map(|profile| profile.enter_layer(Layer::Observer))
}

/// The observer of the ranks.
struct RankLog {
    log: EventLog,
    profile: Option<Arc<Profile>>,
    clock: KernelHandle,
}

impl Observer for RankLog {
    fn observe(&self, rank: u32, event: ProgramEvent) {
        let _inside = inside(self.profile.as_ref());
        if let Some(log) = &mut *self.log.lock_log() {
            let now = self.clock.now().as_secs();
            log.writer.event(rank, now, event);
        }
    }
}

impl fmt::Debug for RankLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RankLog")
    }
}

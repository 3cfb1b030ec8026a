//! Descendants of a process of the run, also descendants that have left the process group or lost
//! their parent: the process adopts a descendant (`PR_SET_CHILD_SUBREAPER`), finds the descendant
//! by the parent in `/proc`, and ends the descendant.
//!
//! A child is reaped only after the kill, so that its number is not reused before.
//!
//! *Not modelled*: a SIGKILL for a process of the run. The next adopting process above gets the
//! orphans: the launcher gets the orphans of a rank, the system gets the orphans of the launcher.
//! Systems other than Linux have no adoption: there, only process groups are ended.

/// Makes orphans of later descendants of this process its own children.
pub(super) fn adopt() {
    #[cfg(target_os = "linux")]
    {
        // Where the system refuses, orphans are not found: nothing else depends on it.
        let _ = rustix::process::set_child_subreaper(Some(rustix::process::getpid()));
    }
}

/// Ends the descendants of this process, then the process itself with this status.
pub(super) fn exit_with(status: i32) -> ! {
    Spared::default().end_others();
    std::process::exit(status)
}

/// Children that are not to be ended.
#[derive(Clone, Default, Debug)]
pub(super) struct Spared(Vec<i32>);

#[cfg(target_os = "linux")]
mod system {
    use rustix::process::{
        Pid, Signal, WaitId, WaitIdOptions, WaitOptions, getpid, kill_process, waitid, waitpid,
    };

    use super::Spared;

    /// No more generations of processes are looked for: a program that starts others faster than
    /// they can be killed is not followed for ever.
    const GENERATIONS_MAX: usize = 100;

    impl Spared {
        /// Returns the present children.
        pub(crate) fn now() -> Self {
            Self(child_pids())
        }

        /// Kills all children but these, then their orphans, and so on, and reaps the killed ones.
        pub(crate) fn end_others(&self) {
            for _ in 0..GENERATIONS_MAX {
                let mut others = child_pids();
                others.retain(|pid| !self.0.contains(pid));
                if others.is_empty() {
                    return;
                }
                let others = others.into_iter().filter_map(Pid::from_raw);
                for pid in others.clone() {
                    let _ = kill_process(pid, Signal::KILL);
                }
                for pid in others {
                    let _ = waitpid(Some(pid), WaitOptions::empty());
                }
            }
        }

        /// Reaps the ended children other than these and `ours`: no other code reaps the adopted
        /// children.
        pub(crate) fn reap_others(&self, ours: impl Fn(i32) -> bool) {
            for pid in child_pids() {
                if let Some(known) = Pid::from_raw(pid)
                    && !self.0.contains(&pid)
                    && !ours(pid)
                {
                    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
                    let _ = waitid(WaitId::Pid(known), ended);
                }
            }
        }
    }

    /// Returns the children of this process.
    fn child_pids() -> Vec<i32> {
        let ours = getpid().as_raw_nonzero().get();
        let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
        let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
        pids.filter(|pid| parent(*pid) == Some(ours)).collect()
    }

    /// The parent of a process; `None` if there is no such process any more.
    fn parent(pid: i32) -> Option<i32> {
        let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
        let stat = String::from_utf8_lossy(&stat);
        // The name, in brackets, may have anything in it.
        let (_, after_name) = stat.rsplit_once(") ")?;
        after_name.split(' ').nth(1)?.parse().ok()
    }
}

#[cfg(not(target_os = "linux"))]
impl Spared {
    pub(super) fn now() -> Self {
        Self::default()
    }

    pub(super) fn end_others(&self) {}

    pub(super) fn reap_others(&self, _: impl Fn(i32) -> bool) {}
}

//! Ranks that another launcher has started: `srun`, `mpirun`, `mpiexec`. Each rank finds its number
//! in the variables that its launcher has set.
//!
//! | launcher | rank | ranks | on this host | job |
//! |---|---|---|---|---|
//! | Open MPI | `OMPI_COMM_WORLD_RANK` | `OMPI_COMM_WORLD_SIZE` | `OMPI_COMM_WORLD_LOCAL_RANK`,
//! `.._LOCAL_SIZE` | `PMIX_NAMESPACE` or `OMPI_MCA_ess_base_jobid` |
//! | MPICH's Hydra, PMI | `PMI_RANK` | `PMI_SIZE` | `MPI_LOCALRANKID`, `MPI_LOCALNRANKS` |
//! `PMI_JOBID` |
//! | Slurm's srun | `SLURM_PROCID` | `SLURM_STEP_NUM_TASKS` | `SLURM_LOCALID`,
//! `SLURM_STEP_TASKS_PER_NODE` | `SLURM_JOB_ID` and `SLURM_STEP_ID` |
//!
//! The first complete row counts: `mpirun` inside an allocation of Slurm starts its helpers by
//! `srun`. A shell in an allocation is no step and no rank. If the job is unknown, the number of
//! the parent process identifies the job, so all ranks must be on one machine or be given the
//! address of the coordinator.
//!
//! The ranks meet over a file. Rank 0 opens the coordinator of the run and writes its address and
//! the secret, readable for the owner only, to `$HOME/.simrun/JOB`, or to the path in
//! `SIMRUN_BOOTSTRAP_FILE`; the other ranks wait for the file. The file is removed when all ranks
//! have connected, or when the run ends. Ranks that find the old file of a killed job try again.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::auth::RunSecret;
use super::{clock, os};

/// A process of an allocation.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessPlace {
    /// Number of the rank.
    pub rank: u32,
    /// Their number.
    pub size: u32,
    /// Number among the ranks of its host.
    pub local_rank: u32,
    /// Number of ranks on this host, if the launcher reports it; else the number of all ranks.
    pub local_size: u32,
    /// Name of the launcher that has started the process.
    pub launcher: &'static str,
    /// Identifier of the job.
    job: String,
}

/// The variable that says over which file the ranks meet.
pub const BOOTSTRAP_FILE: &str = "SIMRUN_BOOTSTRAP_FILE";

impl ProcessPlace {
    /// Returns the file over which the ranks of this job meet, from the environment of this
    /// process. A process that starts others in its place passes the file on in [`BOOTSTRAP_FILE`],
    /// because these processes might identify the job by another parent process.
    pub fn bootstrap_path(&self) -> PathBuf {
        #[expect(
            clippy::disallowed_methods,
            reason = "launchers tell by the environment"
        )]
        let variable = |name: &str| std::env::var(name).ok();
        BootstrapFile::for_job(self, variable).0
    }
}

/// The variables of one launcher: rank, size, number and count on this host, and the identifier of
/// the job.
struct Variables {
    launcher: &'static str,
    rank: &'static str,
    size: &'static str,
    local_rank: &'static str,
    local_size: &'static str,
    job: &'static [&'static str],
    /// All of `job` must be there; otherwise the first that is there will do.
    needs_job: bool,
}

const LAUNCHERS: [Variables; 3] = [
    Variables {
        launcher: "Open MPI",
        rank: "OMPI_COMM_WORLD_RANK",
        size: "OMPI_COMM_WORLD_SIZE",
        local_rank: "OMPI_COMM_WORLD_LOCAL_RANK",
        local_size: "OMPI_COMM_WORLD_LOCAL_SIZE",
        job: &["PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"],
        needs_job: false,
    },
    Variables {
        launcher: "PMI",
        rank: "PMI_RANK",
        size: "PMI_SIZE",
        local_rank: "MPI_LOCALRANKID",
        local_size: "MPI_LOCALNRANKS",
        job: &["PMI_JOBID"],
        needs_job: false,
    },
    Variables {
        launcher: "Slurm",
        rank: "SLURM_PROCID",
        size: "SLURM_STEP_NUM_TASKS",
        local_rank: "SLURM_LOCALID",
        local_size: "SLURM_STEP_TASKS_PER_NODE",
        job: &["SLURM_JOB_ID", "SLURM_STEP_ID"],
        needs_job: true,
    },
];

/// Returns the place of this process in an allocation, from the environment; `None` if no launcher
/// has started this process as a rank.
pub fn process_place(variable: impl Fn(&str) -> Option<String>) -> Option<ProcessPlace> {
    LAUNCHERS.iter().find_map(|names| {
        let number = |name: &str| variable(name)?.trim().parse::<u32>().ok();
        let (rank, size) = (number(names.rank)?, number(names.size)?);
        let job: Vec<String> = names.job.iter().filter_map(|name| variable(name)).collect();
        let job = match job.first() {
            Some(_) if names.needs_job => (job.len() == names.job.len()).then(|| job.join("."))?,
            None if names.needs_job => return None,
            Some(first) => first.clone(),
            None => format!("parent-{}", std::os::unix::process::parent_id()),
        };
        (rank < size).then(|| ProcessPlace {
            rank,
            size,
            local_rank: number(names.local_rank).unwrap_or(rank),
            local_size: number(names.local_size).unwrap_or(size),
            launcher: names.launcher,
            job,
        })
    })
}

/// Contents of the file over which ranks meet.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub(super) struct BootstrapInfo {
    pub(super) address: SocketAddr,
    pub(super) secret: String,
    /// The machine of rank 0.
    host: String,
    boot: String,
}

/// The file over which the ranks of a job meet.
#[derive(Debug)]
pub(super) struct BootstrapFile(PathBuf);

impl BootstrapFile {
    /// The file of a job.
    pub(super) fn for_job(place: &ProcessPlace, variable: impl Fn(&str) -> Option<String>) -> Self {
        if let Some(path) = variable(BOOTSTRAP_FILE) {
            return Self(path.into());
        }
        let folder = variable("HOME").map_or_else(std::env::temp_dir, PathBuf::from);
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
        let name: String = place
            .job
            .chars()
            .map(|letter| if is_plain(letter) { letter } else { '_' })
            .collect();
        Self(folder.join(".simrun").join(name))
    }

    /// Returns the path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes the file, readable for its owner only.
    pub(super) fn write_info(&self, address: SocketAddr, secret: &RunSecret) -> io::Result<()> {
        if let Some(folder) = self.0.parent() {
            fs::create_dir_all(folder)?;
        }
        let bootstrap = BootstrapInfo {
            address,
            secret: secret.to_hex(),
            host: os::host_name(),
            boot: clock::boot(),
        };
        let text = serde_json::to_string(&bootstrap)?;
        let mut name = self.0.clone().into_os_string();
        name.push(format!(".{}.tmp", std::process::id()));
        let temporary = PathBuf::from(name);
        let _ = fs::remove_file(&temporary);
        let written = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&temporary)
            .and_then(|mut file| file.write_all(text.as_bytes()))
            .and_then(|()| fs::rename(&temporary, &self.0));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    /// Reads the file; `None` while there is no file.
    pub(super) fn read_info(&self) -> io::Result<Option<BootstrapInfo>> {
        let data = match fs::symlink_metadata(&self.0) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        let is_ours = data.uid() == rustix::process::geteuid().as_raw();
        if !data.is_file() || !is_ours || data.mode() & 0o077 != 0 {
            let text = format!(
                "{}: must be owned by and readable only for this user",
                self.0.display()
            );
            return Err(io::Error::new(ErrorKind::PermissionDenied, text));
        }
        // One that is being removed or replaced is read again.
        let Ok(text) = fs::read_to_string(&self.0) else {
            return Ok(None);
        };
        let bootstrap: Option<BootstrapInfo> = serde_json::from_str(&text).ok();
        match bootstrap {
            Some(bootstrap)
                if bootstrap.address.ip().is_loopback() && bootstrap.boot != clock::boot() =>
            {
                let text = format!(
                    "rank 0 on {} listens on the loopback only; rank on {} cannot connect: use --listen host",
                    bootstrap.host,
                    os::host_name()
                );
                Err(io::Error::new(ErrorKind::AddrNotAvailable, text))
            }
            other => Ok(other),
        }
    }

    /// Removes the file.
    pub(super) fn remove_file(&self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Number of times that the file is looked for.
pub(super) const LOOK_INTERVAL: Duration = Duration::from_millis(20);

#[cfg(test)]
mod tests {
    use super::*;

    fn with<'a>(pairs: &'a [(&'a str, &'a str)]) -> impl Fn(&str) -> Option<String> + 'a {
        |name| {
            let found = pairs.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        }
    }

    fn told(pairs: &[(&str, &str)]) -> Option<(u32, u32, u32, &'static str, String)> {
        let place = process_place(with(pairs))?;
        Some((
            place.rank,
            place.size,
            place.local_rank,
            place.launcher,
            place.job,
        ))
    }

    #[test]
    fn the_ranks_of_each_launcher_are_recognised() {
        let slurm = [
            ("SLURM_PROCID", "3"),
            ("SLURM_STEP_NUM_TASKS", "4"),
            ("SLURM_LOCALID", "1"),
            ("SLURM_JOB_ID", "77"),
            ("SLURM_STEP_ID", "0"),
        ];
        assert_eq!(told(&slurm), Some((3, 4, 1, "Slurm", "77.0".to_owned())));
        assert_eq!(
            told(&slurm[..4]),
            None,
            "a shell in an allocation is no step"
        );
        let hydra = [
            ("PMI_RANK", "0"),
            ("PMI_SIZE", "2"),
            ("MPI_LOCALRANKID", "0"),
        ];
        let job = format!("parent-{}", std::os::unix::process::parent_id());
        assert_eq!(told(&hydra), Some((0, 2, 0, "PMI", job)));
        let open = [
            ("OMPI_COMM_WORLD_RANK", "5"),
            ("OMPI_COMM_WORLD_SIZE", "8"),
            ("OMPI_COMM_WORLD_LOCAL_RANK", "1"),
            ("PMIX_NAMESPACE", "prterun-n1-12@1"),
        ];
        let expected = (5, 8, 1, "Open MPI", "prterun-n1-12@1".to_owned());
        assert_eq!(told(&open), Some(expected.clone()));
        let both: Vec<_> = slurm.iter().chain(&open).copied().collect();
        assert_eq!(
            told(&both),
            Some(expected),
            "mpirun uses srun for its helpers"
        );
        assert_eq!(told(&[("PMI_RANK", "2"), ("PMI_SIZE", "2")]), None);
        assert_eq!(told(&[("PMI_RANK", "x"), ("PMI_SIZE", "2")]), None);
        assert_eq!(told(&[]), None);
    }

    #[test]
    fn the_file_is_for_its_owner_alone() {
        let place = process_place(with(&[
            ("PMI_RANK", "0"),
            ("PMI_SIZE", "2"),
            ("PMI_JOBID", "a/b c"),
        ]));
        let place = place.unwrap();
        let folder = std::env::temp_dir().join(format!("simrun-meeting-{}", std::process::id()));
        let home = folder.to_str().unwrap();
        let file = BootstrapFile::for_job(&place, with(&[("HOME", home)]));
        assert_eq!(file.path(), folder.join(".simrun/a_b_c"));
        assert!(file.read_info().unwrap().is_none());
        let (secret, address) = (RunSecret::random().unwrap(), "127.0.0.1:9".parse().unwrap());
        file.write_info(address, &secret).unwrap();
        let bootstrap = file.read_info().unwrap().unwrap();
        assert_eq!(
            (bootstrap.address, bootstrap.secret),
            (address, secret.to_hex())
        );
        assert_eq!(fs::metadata(file.path()).unwrap().mode() & 0o777, 0o600);
        let open = std::os::unix::fs::PermissionsExt::from_mode(0o644);
        fs::set_permissions(file.path(), open).unwrap();
        assert!(
            file.read_info().is_err(),
            "another user may have written or read it"
        );
        file.remove_file();
        assert!(file.read_info().unwrap().is_none());
        fs::remove_dir_all(&folder).unwrap();
    }
}

//! Facts about the machine that was measured on, as far as the system tells.

use std::fmt::Write as _;
use std::fs;

/// Facts of the machine.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct MachineInfo {
    /// The processor's name.
    pub processor: String,
    /// Number of processors the system has.
    pub cores: u32,
    /// The kernel's name and version.
    pub kernel: String,
    /// Governor of the processor's frequency.
    pub governor: String,
    /// The load averages of 1, 5 and 15 minutes when the measurement began.
    pub load: String,
}

fn first_line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.lines().next().unwrap_or_default().trim().to_owned())
}

impl MachineInfo {
    /// Returns the facts that the system reports now; `unknown` for missing facts.
    pub fn here() -> Self {
        let unknown = || "unknown".to_owned();
        let info = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let named = |line: &&str| line.starts_with("model name");
        let processor = info
            .lines()
            .find(named)
            .and_then(|line| line.split_once(':'))
            .map_or_else(unknown, |(_, name)| name.trim().to_owned());
        let cores = std::thread::available_parallelism()
            .map_or(1, |cores| u32::try_from(cores.get()).unwrap_or(u32::MAX));
        let release = first_line("/proc/sys/kernel/osrelease").unwrap_or_else(unknown);
        let system = first_line("/proc/sys/kernel/ostype").unwrap_or_else(unknown);
        let governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
        let load = first_line("/proc/loadavg").unwrap_or_else(unknown);
        let three: Vec<&str> = load.split(' ').take(3).collect();
        Self {
            processor,
            cores,
            kernel: format!("{system} {release}"),
            governor: governor.unwrap_or_else(unknown),
            load: three.join(" "),
        }
    }

    /// As comment lines `# key: value` of a file of samples.
    pub fn as_comments(&self) -> String {
        let mut text = String::new();
        for (key, value) in [
            ("processor", self.processor.as_str()),
            ("cores", &self.cores.to_string()),
            ("kernel", &self.kernel),
            ("governor", &self.governor),
            ("load", &self.load),
        ] {
            let _ = writeln!(text, "# {key}: {value}");
        }
        text
    }
}

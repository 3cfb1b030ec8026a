//! Options of real runs over TCP, for every command that starts ranks.

use std::ffi::OsString;

use clap::Args;
use real::{Backend, congestion_control};

/// Options of sockets.
#[derive(Args, Clone, Debug)]
pub struct TcpArgs {
    /// TCP congestion control, for example cubic or reno [default: system setting]
    #[arg(long, value_name = "NAME", help_heading = "TCP")]
    pub tcp_congestion: Option<String>,
}

impl TcpArgs {
    /// Checks that no option of TCP is given together with another `backend`.
    ///
    /// # Errors
    /// If one was given.
    pub fn check_absent(&self, backend: &str) -> Result<(), String> {
        self.tcp_congestion.as_ref().map_or(Ok(()), |name| {
            Err(format!(
                "--tcp-congestion {name} with --backend {backend}: expected it with --backend tcp alone"
            ))
        })
    }

    /// Checks that the sockets of this machine support these options.
    ///
    /// # Errors
    /// An option that they do not support, and the supported values.
    pub fn check_here(&self) -> Result<(), String> {
        let Some(name) = &self.tcp_congestion else {
            return Ok(());
        };
        let found = congestion_control(Some(name));
        found.map(drop).map_err(|wrong| wrong.to_string())
    }

    /// TCP with these options.
    pub fn backend(&self) -> Backend {
        Backend::Tcp {
            congestion: self.tcp_congestion.clone(),
        }
    }

    /// The same options on another command line.
    pub fn as_arguments(&self) -> Vec<OsString> {
        let name = self.tcp_congestion.as_ref();
        let two = name.map(|name| [OsString::from("--tcp-congestion"), name.into()]);
        two.into_iter().flatten().collect()
    }
}

//! Address and time limit for the startup of real ranks: options of every command that starts
//! ranks.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use platform::units;

/// Options of startup.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Launch")]
pub struct StartupArgs {
    /// Time within which all ranks must have connected
    #[arg(long, value_name = "TIME", default_value = "30s")]
    startup_timeout: units::Duration,

    /// Time without an answer over the network after which a rank counts as lost; never =
    /// no limit
    #[arg(
        long,
        value_name = "TIME",
        value_parser = keepalive_timeout,
        default_value = "10s",
    )]
    pub network_timeout: KeepaliveSettings,

    /// Address on which ranks connect: an IP address, or host (the address of this
    /// machine's name) [default: loopback, for ranks on this machine]
    #[arg(long, value_name = "ADDRESS[:PORT]", value_parser = listen)]
    pub listen: Option<SocketAddr>,
}

impl StartupArgs {
    /// Returns the time within which ranks must have connected.
    pub fn startup_timeout(&self) -> Duration {
        Duration::from_secs_f64(self.startup_timeout.as_secs())
    }

    /// Returns the time that a rank may be silent; `None` for ever.
    pub fn keepalive_timeout(&self) -> Option<Duration> {
        let KeepaliveSettings(after) = &self.network_timeout;
        after
            .as_ref()
            .map(|after| Duration::from_secs_f64(after.as_secs()))
    }

    /// Returns the address on which ranks connect.
    pub fn listen_address(&self) -> SocketAddr {
        let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        self.listen.unwrap_or(loopback)
    }

    /// The same on a command line.
    pub fn as_arguments(&self) -> Vec<OsString> {
        let KeepaliveSettings(after) = &self.network_timeout;
        let after = after
            .as_ref()
            .map_or("never".to_owned(), ToString::to_string);
        let mut arguments = vec![
            "--startup-timeout".into(),
            self.startup_timeout.to_string().into(),
        ];
        arguments.extend(["--network-timeout".into(), after.into()]);
        if let Some(address) = self.listen {
            arguments.extend(["--listen".into(), address.to_string().into()]);
        }
        arguments
    }
}

/// The value of `--network-timeout`.
#[derive(Clone, Debug)]
pub struct KeepaliveSettings(Option<units::Duration>);

fn keepalive_timeout(text: &str) -> Result<KeepaliveSettings, String> {
    if text == "never" {
        return Ok(KeepaliveSettings(None));
    }
    let after: units::Duration = text.parse().map_err(|error| format!("{error}"))?;
    if !(1.0..=3600.0).contains(&after.as_secs()) {
        return Err("expected never, or a time from 1s to 3600s".to_owned());
    }
    Ok(KeepaliveSettings(Some(after)))
}

/// Returns the value of `--listen`.
fn listen(text: &str) -> Result<SocketAddr, String> {
    if text == "host" {
        let address = real::host_address().map_err(|error| error.to_string())?;
        return Ok(SocketAddr::new(address, 0));
    }
    let address: Result<IpAddr, _> = text.parse();
    let address = address.map(|address| SocketAddr::new(address, 0));
    let address = address
        .or_else(|_| text.parse())
        .map_err(|_| "expected host or an address such as 10.0.0.1 or 10.0.0.1:4000".to_owned())?;
    if address.ip().is_unspecified() {
        return Err("expected the address of one interface that the ranks can reach".to_owned());
    }
    Ok(address)
}

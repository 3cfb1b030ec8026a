//! Where the ranks of a real run come to, and how long they may take: the same for every command
//! that starts ranks.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use platform::units;

/// Ways in which ranks are started.
#[derive(Args, Clone, Debug)]
pub struct ArrivalArgs {
    /// How long ranks may take to come; also --startup-timeout
    #[arg(
        long,
        alias = "startup-timeout",
        value_name = "TIME",
        default_value = "30s",
        help_heading = "Launch"
    )]
    arrival: units::Duration,

    /// How long a rank may not answer over the network until it counts as lost; never
    /// for no limit
    #[arg(
        long,
        value_name = "TIME",
        value_parser = silence,
        default_value = "10s",
        verbatim_doc_comment,
        help_heading = "Launch"
    )]
    pub network_timeout: Silence,

    /// Where ranks come to: an address, host (that of this machine's name), or
    /// without it the loopback, which only this machine reaches
    #[arg(
        long,
        value_name = "ADDRESS[:PORT]",
        value_parser = listen,
        verbatim_doc_comment,
        help_heading = "Launch"
    )]
    pub listen: Option<SocketAddr>,
}

impl ArrivalArgs {
    /// Returns the time that ranks may take to come.
    pub fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.arrival.as_secs())
    }

    /// Returns the time that a rank may be silent; `None` for ever.
    pub fn silence(&self) -> Option<Duration> {
        let Silence(after) = &self.network_timeout;
        after
            .as_ref()
            .map(|after| Duration::from_secs_f64(after.as_secs()))
    }

    /// Where they come to.
    pub fn address(&self) -> SocketAddr {
        let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        self.listen.unwrap_or(loopback)
    }

    /// The same on a command line.
    pub fn as_arguments(&self) -> Vec<OsString> {
        let Silence(after) = &self.network_timeout;
        let after = after
            .as_ref()
            .map_or("never".to_owned(), ToString::to_string);
        let mut arguments = vec!["--arrival".into(), self.arrival.to_string().into()];
        arguments.extend(["--network-timeout".into(), after.into()]);
        if let Some(address) = self.listen {
            arguments.extend(["--listen".into(), address.to_string().into()]);
        }
        arguments
    }
}

/// The value of `--network-timeout`.
#[derive(Clone, Debug)]
pub struct Silence(Option<units::Duration>);

fn silence(text: &str) -> Result<Silence, String> {
    if text == "never" {
        return Ok(Silence(None));
    }
    let after: units::Duration = text.parse().map_err(|error| format!("{error}"))?;
    if !(1.0..=3600.0).contains(&after.as_secs()) {
        return Err("expected never, or a time from 1s to 3600s".to_owned());
    }
    Ok(Silence(Some(after)))
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
        return Err("expected the address of one interface, to which ranks can come".to_owned());
    }
    Ok(address)
}

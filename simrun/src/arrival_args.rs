//! Where the ranks of a real run come to, and how long they may take: the same for every command that starts ranks.

use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use clap::Args;
use platform::units;

/// How ranks come.
#[derive(Args, Clone, Debug)]
pub(crate) struct ArrivalArgs {
    /// How long ranks may take to come
    #[arg(
        long,
        value_name = "TIME",
        default_value = "30s",
        help_heading = "Launch"
    )]
    arrival: units::Duration,

    /// Where ranks come to: an address, host (that of this machine's name), or
    /// without it the loopback, which only this machine reaches
    #[arg(
        long,
        value_name = "ADDRESS[:PORT]",
        value_parser = listen,
        verbatim_doc_comment,
        help_heading = "Launch"
    )]
    pub(crate) listen: Option<SocketAddr>,
}

impl ArrivalArgs {
    /// How long ranks may take to come.
    pub(crate) fn patience(&self) -> Duration {
        Duration::from_secs_f64(self.arrival.as_secs())
    }

    /// Where they come to.
    pub(crate) fn address(&self) -> SocketAddr {
        let loopback = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 0);
        self.listen.unwrap_or(loopback)
    }

    /// The same on a command line.
    pub(crate) fn as_arguments(&self) -> Vec<OsString> {
        let mut arguments = vec!["--arrival".into(), self.arrival.to_string().into()];
        if let Some(address) = self.listen {
            arguments.extend(["--listen".into(), address.to_string().into()]);
        }
        arguments
    }
}

/// What `--listen` says.
fn listen(text: &str) -> Result<SocketAddr, String> {
    if text == "host" {
        let address = validation::real::host_address().map_err(|error| error.to_string())?;
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

//! The device side of `simrun conformance --adapter udp:ADDRESS`: executes the commands of the
//! tester with an adapter of this machine.
//!
//! `conformance_responder [--device NAME] [--listen ADDRESS:PORT]`; the default address is port
//! 4792 of all interfaces. The program serves one tester after another, each on one TCP connection,
//! without authentication: only for private networks. `--once` ends it after one tester.

#![expect(clippy::print_stderr, reason = "a program of its own")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use rdma::Gid;
use rdma::dialogue::{DeviceCommand, Responder};
use real::conformance::RESPONDER_PORT;
use real::verbs::LibVerbs;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

fn main() -> Result<()> {
    let (mut device, mut once) = (None, false);
    let mut listen = SocketAddr::from(([0, 0, 0, 0], RESPONDER_PORT));
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().ok_or(format!("{argument}: a value"));
        match argument.as_str() {
            "--device" => device = Some(value()?),
            "--listen" => listen = value()?.parse()?,
            "--once" => once = true,
            other => return Err(format!("{other}: expected --device, --listen or --once").into()),
        }
    }
    let listener = TcpListener::bind(listen)?;
    loop {
        let (stream, tester) = listener.accept()?;
        if let Err(error) = serve(device.as_deref(), stream, tester.ip()) {
            eprintln!("{tester}: {error}");
        }
        if once {
            return Ok(());
        }
    }
}

/// Executes commands until the tester goes.
fn serve(device: Option<&str>, stream: TcpStream, tester: IpAddr) -> Result<()> {
    stream.set_nodelay(true)?;
    // Ends with everything that the tester leaves open.
    let verbs = LibVerbs::open(device)?;
    let mut responder = Responder::default();
    let gid = match tester {
        IpAddr::V4(address) => Gid(address.to_ipv6_mapped().octets()),
        IpAddr::V6(address) => Gid(address.octets()),
    };
    let mut replies = stream.try_clone()?;
    for line in BufReader::new(stream).lines() {
        let line = line?;
        let reply = match DeviceCommand::from_line(&line) {
            None => format!("error no command: {line:?}"),
            Some(command) => match responder.execute_command(&verbs, gid, &command) {
                Ok(reply) => reply.to_line(),
                Err(error) => format!("error {error}"),
            },
        };
        replies.write_all((reply + "\n").as_bytes())?;
    }
    Ok(())
}

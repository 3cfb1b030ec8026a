//! The way of a rank to its coordinator: attempts, until one attempt is accepted or the time is
//! over.
//!
//! Foreign processes may open more connections than the system accepts, or than the coordinator
//! keeps, which then closes a connection in its handshake. Ranks may be started before the
//! network is up. So a rank tries again after every failure, after 5 ms at first and 200 ms at
//! most. Only a coordinator of another version or of another run is a final failure.
//!
//! *Not modelled*: a coordinator that changes its address.

use std::io::{self, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::Duration;

use super::auth::{ConnectionPurpose, Handshake, RunSecret, Side};
use super::auth_listener::HANDSHAKE_TIMEOUT;
use super::launch_info::LaunchInfo;
use super::{clock, keepalive};

/// The time between two attempts, at first and at most.
const PAUSE: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(200)];

/// The part of the startup timeout for which a rank tries to connect. It ends before the
/// coordinator gives up, so that the coordinator can report the reason.
const PART: (u32, u32) = (9, 10);

/// Returns a growing pause between attempts, from the one before.
pub(super) fn pause_after(pause: Option<Duration>) -> Duration {
    pause.map_or(PAUSE[0], |pause| (2 * pause).min(PAUSE[1]))
}

/// Returns a connection to the coordinator on which both sides have shown that they know the
/// secret, within the startup timeout.
///
/// # Errors
/// The last failure, with the number of attempts.
pub(super) fn connect_to_coordinator(
    launch_info: &LaunchInfo,
    startup: Duration,
    keepalive_timeout: Option<Duration>,
) -> io::Result<TcpStream> {
    let within = startup * PART.0 / PART.1;
    let deadline_ns = clock::after(within);
    let mut pause = None;
    let mut attempts = 0_u32;
    loop {
        attempts += 1;
        let left = clock::until(deadline_ns).max(Duration::from_millis(1));
        let error = match attempt(launch_info, left.min(HANDSHAKE_TIMEOUT)) {
            Ok(control) => {
                keepalive::watch(
                    &control,
                    keepalive::KeepaliveSettings::of_rank(keepalive_timeout),
                )?;
                return Ok(control);
            }
            Err(error) => error,
        };
        let next = pause_after(pause);
        let is_final = error.kind() == ErrorKind::PermissionDenied;
        if is_final || clock::until(deadline_ns) <= next {
            let text = match attempts {
                1 => error.to_string(),
                _ => format!("{error} ({attempts} attempts)"),
            };
            return Err(io::Error::new(error.kind(), text));
        }
        clock::sleep(next);
        pause = Some(next);
    }
}

/// Connects once, each step within `patience`.
pub(super) fn attempt(launch_info: &LaunchInfo, patience: Duration) -> io::Result<TcpStream> {
    let secret = launch_info.secret().ok_or(ErrorKind::InvalidData)?;
    let mut control = TcpStream::connect_timeout(&launch_info.coordinator, patience)?;
    control.set_nodelay(true)?;
    control.set_read_timeout(Some(patience))?;
    authenticate(&mut control, &secret)?;
    Ok(control)
}

/// Proves to the coordinator that this process knows the secret, and demands the same proof.
fn authenticate(control: &mut TcpStream, secret: &RunSecret) -> io::Result<()> {
    let mut handshake = Handshake::new(Side::Connects, ConnectionPurpose::Control, secret)?;
    loop {
        control.write_all(&handshake.take_output())?;
        if handshake.is_done() {
            return Ok(());
        }
        let count = match control.read(handshake.space()) {
            Ok(0) => return Err(closed()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                return Err(ErrorKind::TimedOut.into());
            }
            other => other?,
        };
        let refused = |refused| io::Error::new(ErrorKind::PermissionDenied, format!("{refused}"));
        handshake.filled(count).map_err(refused)?;
    }
}

/// The error of a connection that the other side has closed in its handshake.
pub(super) fn closed() -> io::Error {
    let text = "the connection was closed in its handshake";
    io::Error::new(ErrorKind::UnexpectedEof, text)
}

#[cfg(test)]
pub(super) mod tests {
    use std::net::TcpListener;
    use std::thread;

    use super::*;

    /// Closes the first `closes` connections at once, closes one more after its proof of the
    /// secret, and accepts the next connection.
    pub(crate) fn accept_peer(
        listener: &TcpListener,
        (purpose, secret): (ConnectionPurpose, &RunSecret),
        closes: usize,
    ) {
        for _ in 0..closes {
            drop(listener.accept().unwrap());
        }
        // Closed after its code was read, the other side must not count itself accepted.
        for answers in [false, true] {
            let (mut stream, _) = listener.accept().unwrap();
            let mut handshake = Handshake::new(Side::Accepts, purpose, secret).unwrap();
            while !handshake.is_done() {
                let count = stream.read(handshake.space()).unwrap();
                handshake.filled(count).unwrap();
                let output = handshake.take_output();
                if answers || !handshake.is_done() {
                    stream.write_all(&output).unwrap();
                }
            }
        }
    }

    #[test]
    fn a_rank_tries_again_until_it_is_accepted() {
        let secret = RunSecret::random().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let launch_info = LaunchInfo::new((0, 1), (0, 1), address, None, &secret);
        thread::scope(|scope| {
            scope.spawn(|| accept_peer(&listener, (ConnectionPurpose::Control, &secret), 3));
            connect_to_coordinator(&launch_info, Duration::from_secs(60), None).unwrap();
        });
        drop(listener);
        let error =
            connect_to_coordinator(&launch_info, Duration::from_millis(50), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::ConnectionRefused);
        assert!(error.to_string().ends_with(" attempts)"), "{error}");
    }

    #[test]
    fn a_coordinator_of_another_run_is_final() {
        let secret = RunSecret::random().unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let launch_info = LaunchInfo::new((0, 1), (0, 1), address, None, &secret);
        thread::scope(|scope| {
            scope.spawn(|| {
                let (mut stream, _) = listener.accept().unwrap();
                stream.read_exact(&mut [0; 24]).unwrap();
                stream.write_all(&[b'x'; 56]).unwrap();
            });
            let error =
                connect_to_coordinator(&launch_info, Duration::from_secs(3600), None).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            assert_eq!(error.to_string(), "peer is not a compatible simrun");
        });
    }
}

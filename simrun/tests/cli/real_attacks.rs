//! Strangers do not hurt a real run: neither at the launcher's door nor at those of its ranks.

use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::{SIMRUN, command, program};

/// Ports at which the processes below `parent` listen: from their sockets to the table of the system.
fn doors(parent: u32) -> Vec<u16> {
    let mut sockets = Vec::new();
    for entry in fs::read_dir("/proc").unwrap().flatten() {
        let Some(pid) = entry
            .file_name()
            .to_str()
            .and_then(|name| name.parse::<u32>().ok())
        else {
            continue;
        };
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        let fields = stat.rsplit(") ").next().unwrap_or_default();
        let is_child = fields.split(' ').nth(1) == Some(&parent.to_string());
        if pid != parent && !is_child {
            continue;
        }
        for fd in fs::read_dir(format!("/proc/{pid}/fd"))
            .into_iter()
            .flatten()
            .flatten()
        {
            let target = fs::read_link(fd.path()).unwrap_or_default();
            let target = target.to_string_lossy().into_owned();
            sockets.extend(
                target
                    .strip_prefix("socket:[")
                    .map(|rest| rest.trim_end_matches(']').to_owned()),
            );
        }
    }
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let listens = table.lines().skip(1).filter_map(|line| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let is_ours = fields[3] == "0A" && sockets.iter().any(|socket| socket == fields[9]);
        let (_, port) = fields[1].split_once(':')?;
        is_ours.then(|| u16::from_str_radix(port, 16).unwrap())
    });
    listens.collect()
}

/// Does what strangers do to an address until told to stop; how often.
fn attack(address: SocketAddr, stop: &AtomicBool) -> u32 {
    let mut half_open = Vec::new();
    let mut count = 0;
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_millis(200))
        else {
            break;
        };
        count += 1;
        // Not so often that the machine has no port left for anybody.
        #[expect(clippy::disallowed_methods, reason = "a test of real processes")]
        thread::sleep(Duration::from_millis(1));
        let _ = stream.set_read_timeout(Some(Duration::from_millis(1)));
        let _ = match count % 6 {
            // A port scan.
            0 => Ok(()),
            1 => stream.write_all(b"GET / HTTP/1.1\r\n\r\n"),
            // The right language without the secret.
            2 => stream
                .write_all(b"simrun 1................")
                .and_then(|()| {
                    let _ = stream.read(&mut [0; 56]);
                    stream.write_all(&[7; 32])
                }),
            3 => stream.write_all(&[0xff; 100_000]),
            // Half a handshake, and silence.
            4 => stream.write_all(b"simrun 1"),
            _ => stream.write_all(b"simrun 9................"),
        };
        if count % 6 >= 4 && half_open.len() < 300 {
            half_open.push(stream);
        }
    }
    count
}

#[test]
fn garbage_scans_and_half_open_connections_do_not_hurt_a_run() {
    let port = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let address: SocketAddr = format!("127.0.0.1:{port}").parse().unwrap();
    let stop = Arc::new(AtomicBool::new(false));
    let line = format!(
        "real -n 3 --listen {address} --connect on-demand {} -- --case crowd",
        program("cases")
    );
    let child = command(SIMRUN)
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut attackers = Vec::new();
    let mut known = Vec::new();
    let mut launched = false;
    for _ in 0..60 {
        let found = if launched {
            doors(child.id())
        } else {
            vec![port]
        };
        for door in found {
            // Before the launcher listens there is nobody to attack.
            let address = SocketAddr::from(([127, 0, 0, 1], door));
            if !known.contains(&door) && TcpStream::connect(address).is_ok() {
                launched = true;
                known.push(door);
                let stop = Arc::clone(&stop);
                attackers.push(
                    thread::Builder::new()
                        .spawn(move || attack(address, &stop))
                        .unwrap(),
                );
            }
        }
        #[expect(clippy::disallowed_methods, reason = "a test of real processes")]
        thread::sleep(Duration::from_millis(10));
    }
    let output = child.wait_with_output().unwrap();
    stop.store(true, Ordering::Relaxed);
    let counts: Vec<u32> = attackers
        .into_iter()
        .map(|one| one.join().unwrap())
        .collect();
    let told = format!("{counts:?} {output:?}");
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(
        known.len() >= 4,
        "the launcher and three ranks have doors: {told}"
    );
    assert!(counts.iter().all(|&count| count > 20), "{told}");
    assert_eq!(
        output.stderr, b"",
        "strangers are nobody's business: {told}"
    );
}

#[test]
fn a_port_in_use_is_told() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap();
    let line = format!(
        "real -n 2 --listen {address} {} -- --case hosts",
        program("cases")
    );
    let ran = crate::support::simrun(&line);
    assert_eq!(ran.status, 2, "{ran:?}");
    assert!(
        ran.stderr
            .starts_with(&format!("error: cannot listen at {address}: ")),
        "{ran:?}"
    );
}

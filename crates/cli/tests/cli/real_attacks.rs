//! Strangers do not disturb a real run: neither at the port of the launcher nor at rank ports.

use std::collections::VecDeque;
use std::fs;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::{Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use crate::support::{Folder, SIMRUN, command, program};

/// Ports at which the processes below `parent` listen: from their sockets to the table of the
/// system.
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

/// Connects to an address, without any pause, until `stop` or `most` connections in all: silence,
/// half a handshake, wrong secrets, other protocols and garbage. The last 800 are held open.
fn attack(address: SocketAddr, most: usize, (count, stop): (&AtomicUsize, &AtomicBool)) {
    let mut held = VecDeque::new();
    while !stop.load(Ordering::Relaxed) && count.load(Ordering::Relaxed) < most {
        let Ok(mut stream) = TcpStream::connect_timeout(&address, Duration::from_secs(1)) else {
            continue;
        };
        let number = count.fetch_add(1, Ordering::Relaxed);
        let _ = stream.set_nonblocking(true);
        let _ = match number % 12 {
            1 => stream.write_all(b"GET / HTTP/1.1\r\n\r\n"),
            // The right protocol without the secret.
            2 => stream
                .write_all(b"simrun 2................")
                .and_then(|()| stream.write_all(&[7; 32])),
            3 => stream.write_all(&[0xff; 10_000]),
            4 => stream.write_all(b"simrun 9................"),
            // Half a handshake.
            5 => stream.write_all(b"simrun 2"),
            _ => Ok(()),
        };
        // An end by RST: a flood must not use up the ports of the machine (TIME-WAIT).
        let _ = set_socket_linger(&stream, Some(Duration::ZERO));
        held.push_back(stream);
        if held.len() > 800 {
            held.pop_front();
        }
    }
}

/// Runs a job of three ranks while strangers flood the ports of the launcher, before listening, and
/// of all ranks. The ranks connect to each other after `least` connections of strangers. Returns
/// the final number of connections. No process may have more than `descriptors`.
fn flooded(least: usize, descriptors: u32) -> (Output, usize) {
    // Not a port that the system gives to sockets that connect: one of them could reach itself.
    let first = 20_000 + u16::try_from(std::process::id() % 10_000).unwrap();
    let is_free = |port: &u16| TcpListener::bind(("127.0.0.1", *port)).is_ok();
    let port = (first..).find(is_free).unwrap();
    let line = format!(
        "ulimit -n {descriptors}; exec {SIMRUN} real -n 3 --listen 127.0.0.1:{port} \
         --connect on-demand {} -- --case crowd",
        program("cases")
    );
    let folder = Folder::new();
    let go = folder.path("go");
    let (count, stop) = (AtomicUsize::new(0), AtomicBool::new(false));
    let mut known = vec![port];
    let output = thread::scope(|scope| {
        let attacks = |door: u16| {
            let address = SocketAddr::from(([127, 0, 0, 1], door));
            let (count, stop) = (&count, &stop);
            scope.spawn(move || attack(address, 20 * least, (count, stop)));
        };
        for _ in 0..3 {
            attacks(port);
        }
        let mut child = command("sh")
            .args(["-c", &line])
            .env("SIMRUN_TEST_GO", &go)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        while child.try_wait().unwrap().is_none() {
            for door in doors(child.id()) {
                if !known.contains(&door) {
                    known.push(door);
                    attacks(door);
                }
            }
            if known.len() == 4 && count.load(Ordering::Relaxed) >= least {
                folder.write("go", "");
            }
            #[expect(clippy::disallowed_methods, reason = "a test of real processes")]
            thread::sleep(Duration::from_millis(10));
        }
        stop.store(true, Ordering::Relaxed);
        child.wait_with_output().unwrap()
    });
    (output, count.into_inner())
}

/// The whole measure, 20 jobs, is taken where `SIMRUN_FLOOD` is set, as every night; else two jobs.
/// The last one has fewer descriptors than strangers want.
#[test]
fn a_flood_of_strangers_does_not_hurt_a_run() {
    let whole = std::env::var_os("SIMRUN_FLOOD").is_some();
    let jobs = if whole { 20 } else { 2 };
    let mut connections = 0;
    for job in 0..jobs {
        let descriptors = if job == jobs - 1 { 64 } else { 4096 };
        let (output, count) = flooded(3_000, descriptors);
        let told = format!("job {job}: {count} connections, {output:?}");
        assert_eq!(output.status.code(), Some(0), "{told}");
        assert_eq!(output.stderr, b"", "{told}");
        connections += count;
    }
    println!("{connections} connections to {jobs} jobs");
    assert!(connections >= 3_000 * jobs, "{connections} connections");
}

#[test]
fn strangers_are_counted_when_a_rank_does_not_come() {
    let folder = Folder::new();
    let ssh = folder.write("ssh", "exec sleep 60\n");
    let hosts = folder.write("hosts", "silent\n");
    let line = format!(
        "real --hosts {hosts} --listen 127.0.0.1 --startup-timeout 2s --remote-shell sh\t{ssh} {} -- --case hosts",
        program("cases")
    );
    let arguments = line.split(' ').map(|word| word.replace('\t', " "));
    let child = command(SIMRUN)
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut found = (0..1_000).map(|_| doors(child.id()));
    let door = found.find_map(|doors| doors.first().copied());
    let door = door.expect("the launcher listens");
    for _ in 0..5 {
        let mut stranger = TcpStream::connect(("127.0.0.1", door)).unwrap();
        stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
        // Until it was sent away.
        let _ = stranger.read_to_end(&mut Vec::new());
    }
    let output = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        stderr,
        "error: rank 0 has not connected within 2 s; 5 connections failed the authentication, \
         0 of them closed to make room for others\n"
    );
    assert_eq!(output.status.code(), Some(2));
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
    ran.exits_with(2);
    ran.reports_first(&format!("error: cannot listen at {address}: "));
}

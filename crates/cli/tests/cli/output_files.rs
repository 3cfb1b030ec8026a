//! Promise: output replaces regular files as a whole, never an input, and streams to standard
//! output where that is asked for.

use std::fs;
use std::os::unix::fs::symlink;

use crate::support::{CLUSTER, Folder, Output, case, command, program, root, simrun};

const XML: &str = "<?xml version='1.0'?>\n\
    <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
    <platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">\
    <host id=\"a\" speed=\"1Gf\"/></zone></platform>\n";

#[track_caller]
fn refused(ran: &Output, part: &str) {
    ran.exits_with(2).reports_text(part);
}

#[test]
fn every_command_refuses_what_is_no_regular_file() {
    let folder = Folder::new();
    let xml = folder.write("p.xml", XML);
    let samples = folder.write("m.csv", "");
    // What a device is replaced by if this is wrong is no device of the machine.
    symlink("/dev/null", folder.path("null.svg")).unwrap();
    let null = folder.path("null.svg");
    let before = folder.names();
    for line in [
        format!("platform import {xml} -o {null}"),
        format!("platform show {CLUSTER} --plot {null}"),
        format!("calibrate {samples} --out {null}"),
        format!("measure --backend simulated --platform {CLUSTER} -n 2 --out {null}"),
        format!(
            "check -n 2 --timeline {null} {} -- --case head-to-head",
            program("cases")
        ),
    ] {
        refused(
            &simrun(&line),
            "null.svg: it is a device: expected the name of a file",
        );
    }
    assert_eq!(folder.names(), before);
    assert!(
        fs::symlink_metadata(folder.path("null.svg"))
            .unwrap()
            .is_symlink()
    );
    // Files of a folder, too.
    fs::create_dir(folder.path("out")).unwrap();
    symlink("/dev/null", folder.path("out/platform.toml")).unwrap();
    let ran = case("hosts", &format!("-n 2 --out {}", folder.path("out")));
    refused(&ran, "platform.toml: it is a device");
}

#[test]
fn an_input_is_never_an_output() {
    let folder = Folder::new();
    let xml = folder.write("p.xml", XML);
    symlink("p.xml", folder.path("link")).unwrap();
    let link = folder.path("link");
    let text = fs::read_to_string(root().join(CLUSTER)).unwrap();
    let toml = folder.write("out/platform.toml", &text);
    let samples = folder.write("m.csv", "x");
    for line in [
        format!("platform import {xml} --out {link}"),
        format!("calibrate {samples} --out {samples}"),
        format!("measure --backend simulated --platform {toml} -n 2 --out {toml}"),
        format!(
            "-p {toml} --out {} {} -- --case hosts",
            folder.path("out"),
            program("cases")
        ),
        format!(
            "compare --platform {toml} -n 2 --measured-times {samples} --plot {samples} {}",
            program("cases")
        ),
    ] {
        refused(&simrun(&line), "it is also the input");
    }
    assert_eq!(fs::read_to_string(&xml).unwrap(), XML);
    assert_eq!(fs::read_to_string(&toml).unwrap(), text);
    assert_eq!(fs::read_to_string(&samples).unwrap(), "x");
}

/// Copies an executable, so that a test that finds a defect destroys no build.
fn copy_of(program: &str, folder: &Folder) -> String {
    let copy = folder.path("program");
    fs::copy(program, &copy).unwrap();
    copy
}

#[test]
fn no_output_of_a_run_replaces_the_program_or_a_file_that_the_run_reads() {
    let folder = Folder::new();
    let app = copy_of(&program("cases"), &folder);
    let bytes = fs::read(&app).unwrap();
    let text = fs::read_to_string(root().join(CLUSTER)).unwrap();
    let platform = folder.write("platform.toml", &text);
    let hosts = folder.write("hosts", "node-0:2\n");
    let selector = root().join("crates/collectives/selectors/nccl.toml");
    let selector = fs::read_to_string(selector).unwrap();
    let chosen = folder.write("chosen.toml", &selector);
    for input in [&app, &platform, &hosts] {
        for output in ["--log-events", "--schedule", "--pcap"] {
            let ran =
                simrun!("-p {platform} --map {hosts} -n 2 {output} {input} {app} -- --case hosts");
            refused(&ran, "it is also the input");
        }
    }
    let line = format!("-p {platform} --set collectives.selector={chosen} -n 2");
    let ran = simrun!("{line} --log-events {chosen} {app} -- --case hosts");
    refused(&ran, "it is also the input");
    let ran = simrun!("check -n 2 --checkpoint {app} {app} -- --case hosts");
    refused(&ran, "it is also the input");
    let replay = folder.write("replay.json", "1;1");
    let line = format!("check -n 2 --replay {replay} --timeline {replay}");
    let ran = simrun!("{line} {app} -- --case hosts");
    refused(&ran, "it is also the input");
    assert!(fs::read(&app).unwrap() == bytes, "the program was replaced");
    assert_eq!(fs::read_to_string(&platform).unwrap(), text);
    assert_eq!(fs::read_to_string(&hosts).unwrap(), "node-0:2\n");
    assert_eq!(fs::read_to_string(&chosen).unwrap(), selector);
    assert_eq!(fs::read_to_string(&replay).unwrap(), "1;1");
}

/// A reader of a whole file stops at the limit; an endless event log has no valid first record.
#[test]
fn files_without_end_are_refused() {
    let app = program("cases");
    let folder = Folder::new();
    let link = folder.path("zero.toml");
    symlink("/dev/zero", &link).unwrap();
    let study = folder.path("study");
    let run = format!("-p {CLUSTER} -n 2");
    for line in [
        format!("{run} --map /dev/zero {app} -- --case hosts"),
        format!("check -n 2 --replay /dev/zero {app} -- --case hosts"),
        format!("{run} --set collectives.selector={link} {app} -- --case hosts"),
        format!("calibrate /dev/zero --out {}", folder.path("out.toml")),
        format!("study run /dev/zero --out {study}"),
        format!("optimise /dev/zero --out {study}"),
        "conformance --expect /dev/zero".to_owned(),
        "fuzz --replay /dev/zero".to_owned(),
        "fuzz --layer mpi --replay /dev/zero".to_owned(),
        format!("draw {link} -o {}", folder.path("out.svg")),
        format!("platform show {link}"),
    ] {
        let ran = simrun(&line);
        ran.exits_with(2)
            .reports_text("it has more than ")
            .reports_text("MiB");
    }
    let ran = simrun("analyse /dev/zero");
    refused(&ran, "not an event log of simrun");
}

#[test]
fn links_are_written_through_and_standard_output_is_a_stream() {
    let folder = Folder::new();
    let xml = folder.write("p.xml", XML);
    folder.write("real.toml", "old");
    symlink("real.toml", folder.path("link.toml")).unwrap();
    let ran = simrun!("platform import {xml} --out {}", folder.path("link.toml"));
    ran.exits_with(0);
    let written = fs::read_to_string(folder.path("real.toml")).unwrap();
    assert!(written.contains("version = 1"), "{written}");
    assert_eq!(folder.names(), ["link.toml", "p.xml", "real.toml"]);
    for stream in ["-", "/dev/stdout"] {
        let ran = simrun!("platform import {xml} --out {stream}");
        assert_eq!(ran.stdout, written, "{ran:?}");
        let line = format!("measure --backend simulated --platform {CLUSTER} -n 2 --sizes 4");
        let ran = simrun!("{line} --held-out 0 --kernels pp --out {stream}");
        ran.exits_with(0);
        // Samples alone: the summary goes to standard error.
        ran.prints_first("# ").reports_text(" samples in ");
    }
    assert_eq!(folder.names(), ["link.toml", "p.xml", "real.toml"]);
}

#[test]
fn sizes_need_a_place_in_the_arguments() {
    let line = |arguments: &str| {
        let program = program("cases");
        let options = "--sizes 64B,1MiB --measured-times nothing.csv";
        simrun!("compare --platform {CLUSTER} -n 2 {options} {program} {arguments}")
    };
    for arguments in ["", "-- --case hosts"] {
        refused(
            &line(arguments),
            "--sizes without {size} in the program's arguments: every size would be the same run",
        );
    }
    // With it the sizes get as far as the program, which knows no such option.
    assert!(!line("-- --size {size}").stderr.contains("without {size}"));
}

/// Returns the lines of fields that tshark reads; `None` if there is no tshark, which
/// `SIMRUN_REQUIRE_TSHARK` does not allow.
#[expect(clippy::print_stdout, reason = "a test that is skipped says so")]
fn dissect(file: &str, fields: &[&str]) -> Option<Vec<String>> {
    // A payload of any program may look like another protocol.
    let mut command = command("tshark");
    command.args(["-r", file, "--disable-protocol", "rpcordma", "-T", "fields"]);
    for field in fields {
        command.args(["-e", field]);
    }
    let Ok(output) = command.output() else {
        let required = std::env::var_os("SIMRUN_REQUIRE_TSHARK").is_some();
        assert!(!required, "there is no tshark");
        println!("skipped: there is no tshark");
        return None;
    };
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    Some(text.lines().map(str::to_owned).collect())
}

/// A ring of two ranks over queue pairs: the first frame of the connection and a message in each
/// direction, each acknowledged with the message sequence number.
#[test]
fn captures_are_read_by_public_dissectors() {
    let folder = Folder::new();
    let file = folder.path("ring.pcapng");
    let ring = "--platform platforms/infiniband.toml -n 2 apps/ring";
    simrun!("--pcap {file} {ring}").exits_with(0);
    let fields = [
        "infiniband.lrh.slid",
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "infiniband.aeth.syndrome",
        "infiniband.aeth.msn",
        "_ws.malformed",
    ];
    let Some(packets) = dissect(&file, &fields) else {
        return;
    };
    // Rank 1 numbers its packets from another number on.
    let second = packets[4].split('\t').nth(2).unwrap().to_owned();
    let expected = [
        "1\t4\t0\t\t\t".to_owned(),
        "2\t17\t0\t31\t1\t".to_owned(),
        "1\t4\t1\t\t\t".to_owned(),
        "2\t17\t1\t31\t2\t".to_owned(),
        format!("2\t4\t{second}\t\t\t"),
        format!("1\t17\t{second}\t31\t1\t"),
    ];
    assert_eq!(packets, expected);
    let of_nobody = format!("--pcap {file} --pcap-qp 99 {ring}");
    refused(&simrun(&of_nobody), "--pcap-qp 99: no packet");
    let of_nobody = format!("--pcap {file} --pcap-host node-7 {ring}");
    refused(&simrun(&of_nobody), "--pcap-host node-7: no packet");
    assert_eq!(dissect(&file, &fields), Some(Vec::new()));
}

/// A FetchAdd and then a send: requests of the tester, then responses of the adapter.
#[test]
fn captures_of_conformance_runs_are_read_by_public_dissectors() {
    let folder = Folder::new();
    let file = folder.path("dialogue.pcapng");
    let case = "conformance --case C09-027/12 --pmtu 256 --start-psn 5";
    simrun!("{case} --pcap {file}").exits_with(0);
    let fields = [
        "ip.src",
        "infiniband.bth.opcode",
        "infiniband.bth.psn",
        "infiniband.aeth.msn",
        "_ws.malformed",
    ];
    let Some(packets) = dissect(&file, &fields) else {
        return;
    };
    let expected = [
        // The first FetchAdd makes the value known.
        "192.0.2.2\t20\t5\t\t",
        "192.0.2.1\t18\t5\t1\t",
        "192.0.2.2\t20\t6\t\t",
        "192.0.2.2\t20\t7\t\t",
        "192.0.2.2\t20\t8\t\t",
        "192.0.2.2\t20\t9\t\t",
        "192.0.2.2\t4\t10\t\t",
        "192.0.2.1\t18\t6\t2\t",
        "192.0.2.1\t18\t7\t3\t",
        "192.0.2.1\t18\t8\t4\t",
        "192.0.2.1\t18\t9\t5\t",
        "192.0.2.1\t17\t10\t6\t",
    ];
    assert_eq!(packets, expected);
}

#[test]
fn captures_that_cannot_be_are_refused() {
    let folder = Folder::new();
    let file = folder.path("x.pcapng");
    let infiniband = "--platform platforms/infiniband.toml -n 2";
    let refused = |line: &str, part: &str| refused(&simrun!("{line} apps/ring"), part);
    let cluster = format!("--platform platforms/cluster.toml -n 2 --pcap {file}");
    refused(&cluster, "--pcap: the platform has no packets");
    refused(
        &format!("{infiniband} --pcap {file} --pcap-host nobody"),
        "--pcap-host nobody: expected the name of a host",
    );
    refused(&format!("{infiniband} --pcap-qp 17"), "--pcap <FILE>");
    let small = format!("{infiniband} --pcap {file} --pcap-limit 2KiB apps/ring");
    let ran = simrun(&small);
    ran.exits_with(0)
        .reports_text("expected a larger --pcap-limit");
    assert!(fs::metadata(&file).unwrap().len() <= 2048);
}

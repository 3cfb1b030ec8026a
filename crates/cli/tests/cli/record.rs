//! `--out`: a record from which the run can be made again.

use std::fs;

use crate::support::{CLUSTER, Folder, SIMRUN, case, command, program, root, run, simrun};

#[test]
fn a_record_is_complete_and_reproduces_the_run() {
    let folder = Folder::new();
    let out = folder.path("deep/out");
    let ran = case("hosts", &format!("-n 8 --map random --seed 5 --out {out}"));
    ran.exits_with(0);
    let mut names: Vec<_> = fs::read_dir(&out)
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.sort();
    assert_eq!(names, ["platform.toml", "record.json"]);
    let record: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(format!("{out}/record.json")).unwrap()).unwrap();
    assert_eq!(record["digest"], ran.digest());
    assert_eq!(record["program"], "cases");
    assert_eq!(record["platform"], CLUSTER);
    assert_eq!(record["seed"], 5);

    // The program with the recorded arguments, on the recorded platform and with a folder of its
    // own.
    let (platform, elsewhere) = (format!("{out}/platform.toml"), folder.path("again"));
    let arguments = record["arguments"].as_array().unwrap().iter();
    let again = arguments.map(|argument| match argument.as_str().unwrap() {
        argument if argument == CLUSTER => &platform,
        argument if argument == out => &elsewhere,
        argument => argument,
    });
    let rerun = run(command(program("cases")).args(again));
    assert_eq!(rerun.digest(), ran.digest(), "{rerun:?}");
    assert_eq!(
        rerun.stdout.lines().take(8).collect::<Vec<_>>(),
        ran.stdout.lines().take(8).collect::<Vec<_>>()
    );
    // The platform of the second record is the one of the first.
    assert_eq!(
        fs::read_to_string(folder.path("again/platform.toml")).unwrap(),
        fs::read_to_string(&platform).unwrap()
    );
}

#[test]
fn a_platform_of_simgrid_runs_under_its_default_model_which_is_named() {
    let folder = Folder::new();
    let xml = folder.path("two.xml");
    let text = r#"<platform version="4.1"><zone id="w" routing="Full">
        <host id="a" speed="1Gf"/><host id="b" speed="1Gf"/><link id="l" bandwidth="1GBps" latency="1ms"/>
        <route src="a" dst="b"><link_ctn id="l"/></route></zone></platform>"#;
    fs::write(&xml, text).unwrap();
    let line = format!("-p {xml} {} -- --case head-to-head", program("cases"));
    let ran = simrun(&line);
    ran.prints_text("\n  network model lv08\n");
    let json = simrun!("--format json {line}");
    let record: serde_json::Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!(record["network_model"], "lv08");
    let plain = simrun!("--set network.model=flow {line}");
    assert!(!plain.stdout.contains("network model"), "{plain:?}");
    assert_ne!(plain.digest(), ran.digest());
}

#[test]
fn every_platform_survives_its_record() {
    let folder = Folder::new();
    for name in ["cluster", "grid", "two-hosts"] {
        let out = folder.path(name);
        let line =
            |platform: &str| format!("-p {platform} {} -- --case head-to-head", program("cases"));
        let first = simrun!("-o {out} {}", line(&format!("platforms/{name}.toml")));
        let second = simrun(&line(&format!("{out}/platform.toml")));
        assert_eq!(first.digest(), second.digest(), "{name}");
    }
}

#[test]
fn a_record_is_replaced_only_by_force() {
    let folder = Folder::new();
    let out = folder.path("out");
    let options = format!("-n 2 --protocol rendezvous -o {out}");
    assert_eq!(case("head-to-head", &options).status, 1);
    let first = fs::read_to_string(format!("{out}/record.json")).unwrap();
    let ran = case("hosts", &format!("-n 2 -o {out}"));
    ran.refuses_with("it holds the record of another command: expected another folder");
    assert_eq!(
        fs::read_to_string(format!("{out}/record.json")).unwrap(),
        first
    );
    case("hosts", &format!("-n 2 -o {out} --force")).exits_with(0);
    assert_ne!(
        fs::read_to_string(format!("{out}/record.json")).unwrap(),
        first
    );
    // Nothing of the first run is left.
    assert!(fs::metadata(format!("{out}/deadlock.dot")).is_err());
}

#[test]
fn the_record_of_the_same_command_is_replaced() {
    let folder = Folder::new();
    let (out, platform) = (folder.path("out"), folder.path("p.toml"));
    let text = fs::read_to_string(root().join(CLUSTER)).unwrap();
    let line = format!("-p {platform} -n 2 -o {out} {}", program("cases"));
    let first = |text: &str| {
        fs::write(&platform, text).unwrap();
        let ran = simrun!("{line} -- --case late");
        ran.succeeds_silently().digest()
    };
    let before = first(&text);
    let after = first(&text.replace("625ns", "725ns"));
    assert_ne!(before, after);
    let record = || fs::read_to_string(format!("{out}/record.json")).unwrap();
    assert!(record().contains(&after), "{}", record());
    for other in [
        format!("--seed 1 {line} -- --case late"),
        format!("{line} -- --case hosts"),
    ] {
        simrun(&other).refuses_with("it holds the record of another command");
    }
    let elsewhere = run(command(SIMRUN)
        .current_dir(folder.path(""))
        .args(line.split(' '))
        .args(["--", "--case", "late"]));
    elsewhere.refuses_with("it holds the record of another command");
}

#[test]
fn failures_are_recorded_too() {
    let folder = Folder::new();
    let ran = case("panic", &format!("-n 2 -o {}", folder.path("out")));
    ran.exits_with(1);
    let record = fs::read_to_string(folder.path("out/record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["failure"]["rank"], 1);
}

#[test]
fn a_deadlock_leaves_its_graph_and_a_mapping_file_its_hosts() {
    let folder = Folder::new();
    let map = folder.path("map");
    fs::write(&map, "node-9\nnode-7\n").unwrap();
    let out = folder.path("out");
    let options = format!("--map {map} --protocol rendezvous -o {out}");
    let ran = case("head-to-head", &options);
    ran.exits_with(1);
    let dot = fs::read_to_string(format!("{out}/deadlock.dot")).unwrap();
    assert!(
        dot.starts_with("digraph deadlock {")
            && dot.contains("a1 -> a2;")
            && dot.contains("a2 -> a1;"),
        "{dot}"
    );
    let hosts = fs::read_to_string(format!("{out}/hosts.txt")).unwrap();
    assert_eq!(hosts, "node-9\nnode-7\n");
    // It is a mapping file itself.
    let again = case(
        "head-to-head",
        &format!("--map {out}/hosts.txt --protocol rendezvous"),
    );
    assert_eq!(again.digest(), ran.digest());
}

#[test]
fn rerun_makes_the_run_again_and_compares() {
    let folder = Folder::new();
    let map = folder.write("map", "node-9\nnode-7\nnode-9\n");
    let out = folder.path("out");
    let set = "--set clusters.nodes.latency*=3 --set network.model=lv08";
    let options = format!("{set} --map {map} --seed 7 --payload phantom --until 2s -o {out}");
    assert_eq!(case("late", &options).status, 0);
    // Whatever was read is in the record now.
    fs::remove_file(&map).unwrap();
    let ran = simrun!("rerun {out}");
    ran.succeeds_silently();
    ran.prints_first("cases: finished again with digest ");
    // Failures are the same again, too, and so are limits.
    for (case_name, options, status) in [
        ("panic", "-n 2", 1),
        ("head-to-head", "-n 3 --protocol rendezvous", 1),
        ("forever", "-n 2 --max-events 50", 3),
        ("late", "--map random -n 5 --protocol threshold=1KiB", 0),
    ] {
        let ran = case(case_name, &format!("{options} --force -o {out}"));
        ran.exits_with(status);
        simrun!("rerun {out}").exits_with(0);
    }
    // Another program or platform is noticed.
    let file = format!("{out}/record.json");
    let record = fs::read_to_string(&file).unwrap();
    let value: serde_json::Value = serde_json::from_str(&record).unwrap();
    let hash = value["rerun"]["sha256"].as_str().unwrap();
    fs::write(&file, record.replace(hash, "0123")).unwrap();
    let ran = simrun!("rerun {out}");
    ran.exits_with(0)
        .reports_text("the program has changed since");
    let platform = format!("{out}/platform.toml");
    let text = fs::read_to_string(&platform).unwrap();
    let slower = text.replace("latency = \"", "latency = \"1ms\" # ");
    assert_ne!(text, slower);
    fs::write(&platform, slower).unwrap();
    let ran = simrun!("rerun {out}");
    ran.exits_with(1);
    ran.reports_text("failed: cases: finished with the digest ");
}

#[test]
fn what_cannot_be_made_again_is_refused() {
    let folder = Folder::new();
    let check = |record: Option<&str>, expected: &str| {
        if let Some(record) = record {
            folder.write("record.json", record);
        }
        let ran = simrun!("rerun {}", folder.path(""));
        ran.exits_with(2).reports_text(expected);
    };
    check(None, "expected the folder of --out");
    check(Some("version = 1"), "not a record of a run");
    check(Some("{}"), "the record has no key `rerun`");
    let rerun = "{\"program\": \"/nowhere/app\", \"sha256\": \"\", \"working_directory\": \"/\", \
                 \"options\": [], \"arguments\": []}";
    let record = |outcome: &str| {
        format!("{{\"outcome\": \"{outcome}\", \"digest\": \"0\", \"rerun\": {rerun}}}")
    };
    check(Some(&record("interrupted")), "this run was interrupted");
    check(
        Some(&record("finished")),
        "/nowhere/app: no such file or directory",
    );
}

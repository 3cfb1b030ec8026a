//! Promise: SimGrid's platforms give SimGrid's timestamps. The XML files of `tests/simgrid/` are
//! read unchanged; the timestamps beside them are results of SimGrid 3.32
//! (`tests/simgrid/regenerate.sh` writes them), for transfers alone and together.
//!
//! If SimGrid is installed, random clusters over all options are compared with a SimGrid run,
//! `SIMGRID_CLUSTERS` clusters (6), and the files of the folder `SIMGRID_PLATFORMS`, if it is set;
//! and random parallel tasks with `host/model:ptask_L07`, `SIMGRID_TASKS` tasks (30). With
//! `SIMRUN_REQUIRE_SIMGRID`, a missing SimGrid is a failure.
//!
//! *Not compared*: routes through the router of a zone with `routing="Cluster"`, which 3.32 does
//! not find; and the time after the host of the program has been switched off.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use platform::Platform;
use sim_core::ActivityId;
use testing::lab::Lab;
use testing::random::Random;

/// Relative to the date.
const LIMIT: f64 = 1e-9;

/// A line of a file of dates.
struct Row {
    kind: Kind,
    from: String,
    to: String,
    bytes: f64,
    start: f64,
    end: f64,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Kind {
    /// A transfer alone.
    Lone,
    /// A transfer beside others.
    Together,
    /// A computation alone on its host; its `bytes` are flop.
    Compute,
}

fn rows(text: &str) -> Vec<Row> {
    let row = |line: &str| {
        let words: Vec<&str> = line.split('\t').collect();
        let [kind, from, to, bytes, start, end] = words[..] else {
            panic!("{line}")
        };
        let number = |word: &str| word.parse().expect("a number");
        Row {
            kind: match kind {
                "lone" => Kind::Lone,
                "together" => Kind::Together,
                "compute" => Kind::Compute,
                _ => panic!("{line}"),
            },
            from: from.to_owned(),
            to: to.to_owned(),
            bytes: number(bytes),
            start: number(start),
            end: number(end),
        }
    };
    text.lines().map(row).collect()
}

/// A platform under one model, with changes.
fn load(xml: &Path, text: &str, model: &str, more: &[&str]) -> Platform {
    let mut changes = vec![format!("network.model={model}")];
    // A transfer of 4.1 never becomes faster than its links were when it began; one of 3.32 does
    // if it has no window.
    if model != "raw" || !text.contains("bandwidth_file") {
        changes.push("network.compat=simgrid-4.1".to_owned());
    }
    changes.extend(more.iter().map(|change| (*change).to_owned()));
    let changes: Vec<_> = changes
        .iter()
        .map(|change| change.parse().expect("a change"))
        .collect();
    let platform = simgrid_import::load(xml);
    let platform =
        platform.and_then(|platform| platform.with_overrides(&xml.display().to_string(), &changes));
    platform.unwrap_or_else(|error| panic!("{}", error.report(false)))
}

/// The dates of one platform under one model, with changes, that are not SimGrid's.
fn wrong(xml: &Path, model: &str, more: &[&str], dates: &str) -> Vec<String> {
    let text = fs::read_to_string(xml).expect("a platform");
    let platform = load(xml, &text, model, more);
    let mut lab = Lab::new(&platform.to_toml());
    let mut rows = rows(dates);
    // Where the only host with a program goes off, nothing is sent.
    let may_end = text.contains("state_file");
    assert!(
        !rows.is_empty() || may_end,
        "{} {model}: no dates",
        xml.display()
    );
    let mut wrong = Vec::new();
    let mut compare = |row: &Row, date: f64| {
        if (date - row.end).abs() > LIMIT * row.end {
            let kind = row.kind;
            wrong.push(format!(
                "{} {model} {kind:?}: {} to {}, {} bytes at {}: {date}, expected {}",
                xml.display(),
                row.from,
                row.to,
                row.bytes,
                row.start,
                row.end
            ));
        }
    };
    rows.sort_by(|a, b| a.start.total_cmp(&b.start));
    for row in rows.iter().filter(|row| row.kind == Kind::Compute) {
        let mut lab = Lab::new(&platform.to_toml());
        lab.wait_until(row.start);
        lab.exec(&row.from, row.bytes, 1.0, f64::INFINITY);
        let (date, _) = lab.next_end().expect("an end");
        compare(row, date);
    }
    for row in rows.iter().filter(|row| row.kind == Kind::Lone) {
        lab.wait_until(row.start);
        lab.send(&row.from, &row.to, row.bytes);
        let (date, _) = lab.next_end().expect("an end");
        compare(row, date);
    }
    // Between two starts transfers end, so the dates are taken step by step.
    let together: Vec<&Row> = rows
        .iter()
        .filter(|row| row.kind == Kind::Together)
        .collect();
    let mut running: Vec<(ActivityId, &Row)> = Vec::new();
    let mut next = together.into_iter().peekable();
    loop {
        let until = next.peek().map_or(f64::INFINITY, |row| row.start);
        // Profiles that repeat have events for ever.
        while !running.is_empty()
            && let Some((date, ended)) = lab.next_end_until(until)
        {
            for number in ended {
                let at = running.iter().position(|(id, _)| id.number == number);
                let (_, row) = running.swap_remove(at.expect("it runs"));
                compare(row, date);
            }
        }
        let Some(row) = next.next() else { break };
        lab.wait_until(row.start);
        running.push((lab.send(&row.from, &row.to, row.bytes), row));
    }
    assert!(running.is_empty());
    wrong
}

/// Compares the platforms of a folder with the dates that are given for each under each model.
fn all_in(folder: &Path, dates: impl Fn(&Path, &str) -> String) {
    let mut files: Vec<PathBuf> = fs::read_dir(folder)
        .expect("a folder")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "xml"))
        .collect();
    files.sort();
    assert!(!files.is_empty());
    let mut all = Vec::new();
    for file in files {
        for model in ["raw", "cm02", "lv08"] {
            all.extend(wrong(&file, model, &[], &dates(&file, model)));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Returns the folder of this test, with the platforms and their stored timestamps.
fn here() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/simgrid")
}

/// A program that prints the dates of a platform, if SimGrid is installed; built once for all
/// tests.
fn oracle() -> Option<&'static Path> {
    static PROGRAM: OnceLock<Option<PathBuf>> = OnceLock::new();
    PROGRAM.get_or_init(|| build("dates")).as_deref()
}

/// Builds a program of `tests/simgrid/`, if SimGrid is installed.
fn build(name: &str) -> Option<PathBuf> {
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("simgrid-{name}"));
    let mut compiler = Command::new("g++");
    compiler.args(["-O1", "-std=c++17", "-o"]).arg(&program);
    let built = compiler
        .arg(here().join(format!("{name}.cpp")))
        .arg("-lsimgrid")
        .output();
    let built = built.is_ok_and(|output| output.status.success());
    let required = std::env::var_os("SIMRUN_REQUIRE_SIMGRID").is_some();
    assert!(
        built || !required,
        "SimGrid (libsimgrid-dev) and g++ are not installed"
    );
    built.then_some(program)
}

/// Returns the dates of SimGrid on a platform under a model, with a link changed or not; `raw` is
/// CM02 without crosstraffic, window and weight.
fn live(program: &Path, xml: &Path, model: &str, set_link: Option<&str>) -> String {
    let name = if model == "lv08" { "LV08" } else { "CM02" };
    let mut command = Command::new(program);
    command.envs(set_link.map(|change| ("SET_LINK", change)));
    command
        .arg(xml)
        .args(["--log=root.thres:error", "--cfg=network/optim:Full"]);
    command.arg(format!("--cfg=network/model:{name}"));
    if model == "raw" {
        command.args(["--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0"]);
        command.arg("--cfg=network/weight-S:0");
    }
    let output = command.output().expect("the program that was built");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{}: {said}", xml.display());
    String::from_utf8(output.stdout).expect("text")
}

/// A cluster with random options.
fn cluster(random: &mut Random) -> String {
    let shapes = [
        ("FLAT", "", 12),
        ("TORUS", "3,2,2", 12),
        ("TORUS", "5", 5),
        ("FAT_TREE", "2;3,4;1,2;1,2", 12),
        ("FAT_TREE", "1;6;1;2", 6),
        ("DRAGONFLY", "2,1;2,1;2,1;2", 16),
        ("DRAGONFLY", "3,2;2,1;3,2;1", 18),
    ];
    let (topology, parameters, hosts) = shapes[random.draw_below(shapes.len())];
    let mut more = format!(
        "bw=\"{}MBps\" lat=\"{}us\" ",
        80 + random.draw_below(400),
        1 + random.draw_below(90)
    );
    let policies = ["SHARED", "SPLITDUPLEX", "FATPIPE"];
    more += &format!("sharing_policy=\"{}\" ", random.one_of(&policies));
    if topology == "FLAT" {
        if random.draw_below(2) == 0 {
            let policy = random.one_of(&["SHARED", "FATPIPE"]);
            let bandwidth = 100 + random.draw_below(900);
            more += &format!(
                "bb_bw=\"{bandwidth}MBps\" bb_lat=\"7us\" bb_sharing_policy=\"{policy}\" "
            );
        }
    } else {
        more += &format!("topology=\"{topology}\" topo_parameters=\"{parameters}\" ");
    }
    if random.draw_below(2) == 0 {
        more += "loopback_bw=\"900MBps\" loopback_lat=\"0\" ";
    }
    if random.draw_below(2) == 0 {
        more += &format!("limiter_link=\"{}MBps\" ", 60 + random.draw_below(500));
    }
    format!(
        "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><cluster id=\"c\" prefix=\"n\" suffix=\"\" \
         radical=\"0-{}\" speed=\"1Gf\" {more}/></zone></platform>\n",
        hosts - 1
    )
}

#[test]
fn dates_on_imported_platforms() {
    all_in(&here(), |xml, model| {
        let file = xml.with_extension(format!("{model}.dates"));
        fs::read_to_string(&file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    });
}

#[test]
fn dates_on_random_clusters_and_platforms_of_another_folder() {
    let Some(program) = oracle() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("clusters");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let count = std::env::var_os("SIMGRID_CLUSTERS").map_or(6, |count| {
        let count = count.to_str().and_then(|count| count.parse().ok());
        count.expect("a number of clusters")
    });
    let mut random = Random(11);
    for number in 0..count {
        fs::write(
            folder.join(format!("{number:04}.xml")),
            cluster(&mut random),
        )
        .expect("a file");
    }
    let dates = |xml: &Path, model: &str| live(program, xml, model, None);
    all_in(&folder, dates);
    if let Some(folder) = std::env::var_os("SIMGRID_PLATFORMS") {
        all_in(Path::new(&folder), dates);
    }
}

/// `--set` for one direction of one cable of a cluster is `Link::set_bandwidth` of SimGrid.
#[test]
fn dates_with_one_slow_cable_in_a_cluster() {
    let Some(program) = oracle() else { return };
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("slow-cables");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    let mut all = Vec::new();
    for (topology, theirs, ours) in [
        ("", "c_link_3_UP", "links.n3:up"),
        ("", "c_link_4_DOWN", "links.n4:down"),
        (
            "topology=\"TORUS\" topo_parameters=\"4,2\"",
            "c_link_from_1_to_2_UP",
            "links.n1/0:up",
        ),
        (
            "topology=\"FAT_TREE\" topo_parameters=\"2;4,2;1,2;1,1\"",
            "link_from_3_15_3_UP",
            "links.n3:up",
        ),
    ] {
        let xml = folder.join("cluster.xml");
        let text = format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\"><zone id=\"w\" routing=\"Full\"><cluster id=\"c\" prefix=\"n\" \
             suffix=\"\" radical=\"0-7\" speed=\"1Gf\" bw=\"100MBps\" lat=\"10us\" {topology}/></zone></platform>\n"
        );
        fs::write(&xml, text).expect("a file");
        for model in ["raw", "cm02", "lv08"] {
            let dates = live(program, &xml, model, Some(&format!("{theirs} 2e7")));
            let plain = live(program, &xml, model, None);
            assert!(dates != plain, "{theirs} is on no way of this test");
            let change = format!("{ours}.bandwidth=20MBps");
            all.extend(wrong(&xml, model, &[&change], &dates));
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

/// Hosts of one or two cores and of unlike speeds, two links in a row between any two of them.
fn star(random: &mut Random, hosts: usize) -> String {
    let mut text = "<?xml version='1.0'?>\n\
         <!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
         <platform version=\"4.1\"><zone id=\"w\" routing=\"Full\">\n"
        .to_owned();
    for host in 0..hosts {
        let (speed, cores) = (1 + random.draw_below(4), 1 + random.draw_below(2));
        let (bandwidth, latency) = (20 + random.draw_below(200), random.draw_below(3));
        text += &format!(
            "<host id=\"n{host}\" speed=\"{speed}00Mf\" core=\"{cores}\"/>\n\
             <link id=\"l{host}\" bandwidth=\"{bandwidth}MBps\" latency=\"{latency}ms\"/>\n"
        );
    }
    for (from, to) in (0..hosts).flat_map(|from| (0..from).map(move |to| (from, to))) {
        text += &format!(
            "<route src=\"n{from}\" dst=\"n{to}\">\
             <link_ctn id=\"l{from}\"/><link_ctn id=\"l{to}\"/></route>\n"
        );
    }
    text + "</zone></platform>\n"
}

/// A parallel task, a computation or a transfer.
struct Task {
    start: f64,
    hosts: Vec<String>,
    flops: Vec<f64>,
    bytes: Vec<f64>,
}

/// The dates at which tasks end in SimGrid.
fn simgrid_ends(program: &Path, xml: &Path, tasks: &[Task]) -> Vec<f64> {
    let mut lines = String::new();
    for task in tasks {
        let amounts = task.flops.iter().chain(&task.bytes).map(f64::to_string);
        let words: Vec<String> = task.hosts.iter().cloned().chain(amounts).collect();
        lines += &format!("{} {} {}\n", task.start, task.hosts.len(), words.join(" "));
    }
    let mut child = Command::new(program)
        .arg(xml)
        .args(["--log=root.thres:error", "--cfg=host/model:ptask_L07"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program that was built");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(lines.as_bytes()).expect("a reader");
    drop(input);
    let output = child.wait_with_output().expect("a child");
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).expect("text");
    text.lines()
        .map(|line| line.parse().expect("a date"))
        .collect()
}

/// The dates at which tasks end here, on a platform with changes.
fn ends(xml: &Path, changes: &[&str], tasks: &[Task]) -> impl Iterator<Item = f64> {
    let text = fs::read_to_string(xml).expect("a platform");
    let platform = load(xml, &(text + "bandwidth_file"), "raw", changes);
    let mut lab = Lab::new(&platform.to_toml());
    let mut ends = vec![f64::NAN; tasks.len()];
    let mut order: Vec<usize> = (0..tasks.len()).collect();
    order.sort_by(|a, b| tasks[*a].start.total_cmp(&tasks[*b].start));
    // The number of the activity is its position in `order`.
    for next in 0..=order.len() {
        let until = order
            .get(next)
            .map_or(f64::INFINITY, |task| tasks[*task].start);
        while let Some((date, ended)) = lab.next_end_until(until) {
            for number in ended {
                ends[order[number as usize]] = date;
            }
        }
        if let Some(task) = order.get(next) {
            lab.wait_until(until);
            tasks[*task].begin(&mut lab);
        }
    }
    ends.into_iter()
}

impl Task {
    /// Returns a task with almost no load.
    fn first() -> Self {
        Self {
            start: 0.0,
            hosts: vec!["n0".to_owned(), "n1".to_owned()],
            flops: vec![1e-3, 0.0],
            bytes: vec![0.0; 4],
        }
    }

    fn random(random: &mut Random, hosts: usize) -> Self {
        let (first, kind) = (random.draw_below(hosts), random.draw_below(5));
        let count = [1, 2, 2, 3, 3][kind];
        let names = (first..first + count).map(|host| format!("n{}", host % hosts));
        let mut amounts = |count: usize, largest: usize| -> Vec<f64> {
            let amount = |_| (random.draw_below(2) * random.draw_below(largest)) as f64;
            (0..count).map(amount).collect()
        };
        let mut flops = amounts(count, 200_000_000);
        let mut bytes = amounts(count * count, 20_000_000);
        for host in 0..count {
            bytes[host * count + host] = 0.0;
        }
        match kind {
            0 => flops[0] += 1e6,
            1 => (flops, bytes) = (vec![0.0; 2], vec![0.0, 1e6 + bytes[1], 0.0, 0.0]),
            // What is neither would be a transfer without bytes.
            _ => flops[1] += 1e6,
        }
        let start = (random.draw_below(4) * 125) as f64 / 1000.0;
        Self {
            start,
            hosts: names.collect(),
            flops,
            bytes,
        }
    }

    fn begin(&self, lab: &mut Lab) -> ActivityId {
        match &self.hosts[..] {
            [host] => lab.exec(host, self.flops[0], 1.0, f64::INFINITY),
            [from, to] if self.flops == [0.0; 2] => lab.send(from, to, self.bytes[1]),
            hosts => {
                let hosts: Vec<&str> = hosts.iter().map(String::as_str).collect();
                lab.task(&hosts, &self.flops, &self.bytes)
            }
        }
    }
}

/// The dates of SimGrid's model of parallel tasks, `SIMGRID_TASKS` (30) times several tasks,
/// computations and transfers that share cores and links.
#[test]
fn dates_of_parallel_tasks_that_share() {
    let Some(program) = build("tasks") else {
        return;
    };
    let xml = Path::new(env!("CARGO_TARGET_TMPDIR")).join("tasks.xml");
    let count = std::env::var_os("SIMGRID_TASKS").map_or(30, |count| {
        let count = count.to_str().and_then(|count| count.parse().ok());
        count.expect("a number of platforms")
    });
    let mut random = Random(5);
    let mut differ = 0;
    for round in 0..count {
        let hosts = 3 + random.draw_below(4);
        fs::write(&xml, star(&mut random, hosts)).expect("a file");
        let mut tasks: Vec<Task> = (0..2 + random.draw_below(8))
            .map(|_| Task::random(&mut random, hosts))
            .collect();
        // Ours shares by that rule from the first parallel task on.
        tasks.insert(0, Task::first());
        let wanted = simgrid_ends(&program, &xml, &tasks);
        let compat = ["network.compat=simgrid-4.1", "network.tcp_gamma=4194304B"];
        for (number, (found, wanted)) in ends(&xml, &compat, &tasks).zip(&wanted).enumerate() {
            assert!(
                (found - wanted).abs() <= LIMIT * wanted,
                "round {round}, task {number}: {found}, expected {wanted}"
            );
        }
        let ours = ends(&xml, &compat[1..], &tasks);
        differ += ours
            .zip(&wanted)
            .filter(|(found, wanted)| (found - **wanted).abs() > LIMIT)
            .count();
    }
    assert!(differ > 0, "max-min sharing gives the same dates");
}

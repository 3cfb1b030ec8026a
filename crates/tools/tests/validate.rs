//! Promise: errors, noise and regret of a table are printed, limits decide the exit status, and
//! keys are fitted to a part of the rows.

use std::path::Path;
use std::process::{Command, Output};

const TABLE: &str = "\
machine,timestamp,nodes,ppn,collective,library,gpu,algorithm,segment,dtype,bytes,p25_us,median_us,p75_us
m,1,4,1,bcast,OMPI,,binomial_ompi,,int32,1024,9,10,11
m,1,4,1,bcast,OMPI,,knomial_ompi,,int32,1024,99,100,101
m,2,4,1,bcast,OMPI,,default_ompi,,int32,1024,19,20,21
m,2,4,1,bcast,OMPI,,sparbit_over,,int32,1024,19,20,21
";

fn validate(table: &str, more: &[&str]) -> Output {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.csv", table.len()));
    std::fs::write(&path, table).unwrap();
    let platform = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms/cluster.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_simrun-tools"));
    command.arg("validate").arg(path).args(["-p", platform]);
    command.args(more).output().unwrap()
}

#[test]
fn a_table_is_judged() {
    let output = validate(TABLE, &["--require", "worst=1%"]);
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "2 rows judged, 1 of the library's choice, 1 left out",
        "1  unknown algorithm of OMPI, bcast",
        "noise of the measurements: 5.5 %",
        "library's choice / best measured time, 1 calls:\n  mean 2.000",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    assert_eq!(output.status.code(), Some(1));
    let folder = env!("CARGO_TARGET_TMPDIR");
    let output = validate(TABLE, &["--format", "json", "--report", folder]);
    let picture = std::fs::read_to_string(format!("{folder}/ratios-bcast.svg")).unwrap();
    assert!(picture.contains("binomial_ompi"), "{picture}");
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["rows"][1]["algorithm"], "openmpi:knomial");
    assert_eq!(json["rows"][1]["label"], "knomial_ompi");
    assert_eq!(json["regrets"][0]["of_default"], 2.0);
    let hosts = Path::new(env!("CARGO_TARGET_TMPDIR")).join("hosts.csv");
    let header = "machine,timestamp,test,ranks,hosts_in_order_of_ranks";
    std::fs::write(&hosts, format!("{header}\nm,1,,4,n-1 n-2 n-3 n-4\n")).unwrap();
    let wrong = validate(TABLE, &["--hosts", hosts.to_str().unwrap()]);
    assert_eq!(wrong.status.code(), Some(2));
    let text = String::from_utf8(wrong.stderr).unwrap();
    assert!(
        text.contains("line 2: the hosts of the job:1: the platform has no host"),
        "{text}"
    );
}

#[test]
fn pictures_have_only_rows_with_sizes() {
    let sizes = "# OSU MPI Allreduce Latency Test v7.4\n# Size  Avg Latency(us)\n64 6\n4096 9\n";
    let barrier = "# OSU MPI Barrier Latency Test v7.4\n# Avg Latency(us)\n  5.0\n";
    let folder = tempfile::tempdir().unwrap();
    let drawn = |text: &str, name: &str| {
        let folder = folder.path().join(name);
        let output = validate(
            text,
            &["--ranks", "4", "--report", folder.to_str().unwrap()],
        );
        assert!(output.status.success(), "{output:?}");
        let names = std::fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = names.map(|entry| entry.unwrap().file_name()).collect();
        names.sort();
        names
    };
    assert_eq!(
        drawn(&format!("{sizes}\n{barrier}"), "both"),
        ["ratios-allreduce.svg", "times.svg"]
    );
    assert_eq!(drawn(barrier, "barrier"), ["times.svg"]);
    let short = barrier.replace("5.0", "0.001");
    assert!(drawn(&short, "short").is_empty());
}

#[test]
fn keys_are_fitted() {
    let fitted = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fitted.toml");
    let fitted = fitted.to_str().unwrap();
    let fit = ["--fit", "clusters.*.latency", "--fit-share", "50%"];
    let output = validate(TABLE, &[&fit[..], &["--out", fitted]].concat());
    let text = String::from_utf8(output.stdout).unwrap();
    for expected in [
        "1 rows judged, 1 fitted, 1 of the library's choice",
        "\nclusters.*.latency x ",
        "\nfitted   ",
    ] {
        assert!(text.contains(expected), "{text}");
    }
    let toml = std::fs::read_to_string(fitted).unwrap();
    assert!(
        toml.starts_with("# Fitted by: ") && toml.contains("latency"),
        "{toml}"
    );
    for without_effect in [
        &fit[..2],
        &["--fit-share", "50%"],
        &["--seed", "2"],
        &["--out", "x"],
    ] {
        let refused = validate(TABLE, without_effect);
        assert_eq!(refused.status.code(), Some(2), "{without_effect:?}");
    }
}

//! Promise: errors, noise and regret of a table are printed, and limits decide the exit status.

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
    assert!(
        text.contains("2 rows judged, 1 of the library's choice, 1 left out"),
        "{text}"
    );
    assert!(text.contains("unknown algorithm of OMPI, bcast"), "{text}");
    assert!(text.contains("noise of the measurements: 5.5 %"), "{text}");
    assert!(
        text.contains("library's choice / best measured time, 1 calls: mean 2.000"),
        "{text}"
    );
    assert_eq!(output.status.code(), Some(1));
    let output = validate(TABLE, &["--format", "json"]);
    let json: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(json["rows"][1]["algorithm"], "openmpi:knomial");
    assert_eq!(json["regrets"][0]["of_default"], 2.0);
    let wrong = validate("size,time\n", &[]);
    assert_eq!(wrong.status.code(), Some(2));
}

//! `simrun calibrate`: a platform file that runs, a report, warnings, and mistakes with their
//! lines.

use std::fmt::Write as _;

use crate::support::{CLUSTER, Folder, simrun};

#[test]
fn a_calibrated_platform_runs() {
    let folder = Folder::new();
    let mut text = "# OSU MPI Latency Test v5.6.3\n# Size          Latency (us)\n".to_owned();
    for at in 0..20_u32 {
        let size = 1_u32 << at;
        let time = 2.0 + f64::from(size) / 5000.0 + if at < 14 { 0.0 } else { 20.0 };
        writeln!(text, "{size} {time}").unwrap();
    }
    let measured = folder.write("osu.txt", &text);
    let (out, report) = (folder.path("mine.toml"), folder.path("report"));
    let line = format!("calibrate {measured} --out {out} --report {report} --platform-hosts 4");
    let ran = simrun(&line);
    ran.succeeds_silently();
    ran.prints_first("Ping-pong at 18 cross-validation sizes: ");
    ran.prints_text("\nW-BREAKPOINT: breakpoint (")
        .prints_text(" 8192 ");
    let page = std::fs::read_to_string(folder.path("report/index.html")).unwrap();
    assert!(page.contains("W-BREAKPOINT") && page.matches("<svg").count() == 4);
    // The command that makes it again.
    let command = format!("simrun {line}").replace('/', "&#x2f;");
    assert!(page.contains(&command), "{line}");
    // Nothing is fetched from anywhere.
    assert!(!page.contains(" src=") && !page.contains("<link") && !page.contains("@import"));
    for name in ["fit", "residuals", "predicted"] {
        let picture = std::fs::read(folder.path(&format!("report/{name}.png"))).unwrap();
        assert!(picture.starts_with(b"\x89PNG"));
    }
    let shown = simrun!("platform check {out}");
    shown.exits_with(0).prints_text("hosts     4");
    // The same input, the same file.
    let before = std::fs::read(&out).unwrap();
    assert_eq!(simrun(&line).stdout, ran.stdout);
    assert_eq!(std::fs::read(&out).unwrap(), before);
}

#[test]
fn bad_measurements_are_answered_with_their_lines() {
    let folder = Folder::new();
    let measured = folder.write("m.csv", "size_bytes,time_us\n8,fast\n-1,2\n");
    let out = folder.path("mine.toml");
    let ran = simrun!("calibrate {measured} --out {out}");
    ran.refuses_with("m.csv:2: time_us is \"fast\": expected");
    ran.reports_text("m.csv:3: size_bytes is \"-1\": expected");
    assert!(!std::path::Path::new(&out).exists());
    let ran = simrun!("calibrate {} --out {out}", folder.path("none.csv"));
    ran.exits_with(2).reports_text("none.csv: cannot read it");
}

#[test]
fn rings_that_were_measured_are_predicted_and_may_be_limited() {
    let folder = Folder::new();
    let (samples, out) = (folder.path("m.csv"), folder.path("mine.toml"));
    let measure = |kernels: &str| {
        let line = format!(
            "measure --backend simulated --platform {CLUSTER} -n 4 --sizes 12 --held-out 5 --kernels {kernels} --out {samples}"
        );
        assert_eq!(simrun(&line).status, 0);
    };
    let report = folder.path("report");
    let line = format!("calibrate {samples} --out {out} --require-programs");
    measure("ring");
    let ran = simrun!("{line} worst=1% --report {report}");
    ran.succeeds_silently();
    let verdict = "Ring of 4 at 5 sizes, never fitted: median error 0.0 %";
    ran.prints_text(verdict);
    let page = std::fs::read_to_string(folder.path("report/index.html")).unwrap();
    assert!(page.contains(verdict), "{page}");
    let figures = std::fs::read_to_string(folder.path("report/calibration.json")).unwrap();
    let figures: serde_json::Value = serde_json::from_str(&figures).unwrap();
    assert_eq!(figures["programs"][0]["kernel"], "ring4");
    assert_eq!(figures["programs"][0]["errors"]["count"], 5);
    // Rings that take a tenth longer than what is between two ranks says.
    let text = std::fs::read_to_string(&samples).unwrap();
    let slower = |line: &str| match line.rsplit_once(',') {
        Some((rest, time)) if line.contains(",ring4,") => {
            format!("{rest},{}\n", 1.1 * time.parse::<f64>().unwrap())
        }
        _ => format!("{line}\n"),
    };
    let slower: String = text.lines().map(slower).collect();
    std::fs::write(&samples, slower).unwrap();
    let ran = simrun!("{line} median=5%");
    ran.exits_with(1);
    let missed = "Ring of 4: median error 9.09 % exceeds the limit of 5.00 %";
    ran.reports_text(missed);
    // What was not measured keeps no limit.
    measure("pp");
    let ran = simrun!("{line} median=5%");
    ran.exits_with(1);
    let missed = "median was required, but there are no predictions";
    ran.reports_text(missed);
}

//! Promise: the report of a run is one page that needs no other file, shows the rows of the tables,
//! escapes names, and stays small.

use std::io::Cursor;
use std::path::Path;

use mpi::prelude::*;
use observe::{BackwardReader, LogEntry, LogReader, LogWriter};
use platform::Platform;
use report::analysis::{Analysis, AnalysisReport, BackwardReport, Class};
use report::html::{ReportPage, TimelineOverview, write_comparison};
use report::network::{LinkLoad, NetworkAnalysis, NetworkReport};

use crate::common::{observed, read};

/// A size in bytes above which a page is too large.
const LIMIT: usize = 5_000_000;

const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "500ns"
"#;

const LOGGOPS: &str = r#"
version = 1
[network]
model = "loggops"
latency = "2500ns"
overhead = "1500ns"
gap = "1000ns"
gap_per_byte = "6ns"
overhead_per_byte = "0ns"
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "500ns"
"#;

/// Returns the event log of a run.
fn log_of<Fut>(platform: &str, ranks: u32, program: fn(Comm) -> Fut) -> Vec<u8>
where
    Fut: Future<Output = Result<()>> + 'static,
{
    observed(platform, ranks, program).0
}

/// Analyses an event log.
fn analyse_log(log: &[u8]) -> (AnalysisReport, NetworkReport, TimelineOverview) {
    let ranks = LogReader::new(log).expect("a log").ranks();
    let mut analysis = Analysis::new(ranks);
    let mut network = NetworkAnalysis::new(ranks);
    let mut timeline = TimelineOverview::new(ranks);
    let reader = read(log, |entry, names| match entry {
        LogEntry::Rank(rank, time, event) => {
            analysis.handle_event((rank, time, event), |number| names.text(number));
            network.handle_event(rank, time, &event);
            timeline.event(rank, time, &event, |number| names.text(number));
        }
        LogEntry::Network(time, event) => network.handle_network_event(time, &event),
    });
    let mut analysis = analysis.finish_report(&reader);
    let backwards = BackwardReader::new(Cursor::new(log)).expect("a log");
    let backward = BackwardReport::from_log(backwards, &reader, analysis.end_s).expect("a log");
    analysis.add_backward(backward);
    let network = network.finish_report(&reader);
    timeline.finish_overview(analysis.end_s);
    (analysis, network, timeline)
}

/// Returns the page of an event log.
fn page_of(log: &[u8], title: &str, notes: Vec<String>) -> String {
    page_with(log, (title, None), notes)
}

/// Returns the page of the event log of a run on a platform.
fn page_with(log: &[u8], (title, platform): (&str, Option<&str>), notes: Vec<String>) -> String {
    let platform = platform.map(|text| Platform::parse("p.toml", text).expect("a platform"));
    let (analysis, network, timeline) = analyse_log(log);
    let page = ReportPage {
        title,
        command: "simrun run --platform test.toml 'a <program>'",
        analysis: &analysis,
        network: &network,
        timeline: Some(&timeline),
        platform: platform.as_ref(),
        notes,
        checked: None,
    };
    let mut out = Vec::new();
    let content = page.page_content().expect("pictures");
    content.write_html(&mut out).expect("memory");
    let text = String::from_utf8(out).expect("a page is text");
    needs_nothing(&text);
    // For the browser of html.sh.
    if let Some(folder) = std::env::var_os("SIMRUN_PAGES") {
        let name = title.replace(|letter: char| !letter.is_alphanumeric(), "x");
        let path = Path::new(&folder).join(format!("{name}.html"));
        std::fs::write(path, &text).expect("the folder of SIMRUN_PAGES is there");
    }
    text
}

/// Checks that the page has no external address, and is not too large.
#[track_caller]
fn needs_nothing(page: &str) {
    assert!(page.len() < LIMIT, "{} bytes", page.len());
    let mut rest = String::new();
    for (at, part) in page.split("data:text/csv;base64,").enumerate() {
        let end = if at == 0 {
            0
        } else {
            part.find('"').expect("an end")
        };
        rest.push_str(&part[end..]);
    }
    for address in ["http:", "https:", "//", "url(", "@import", " src=", "<link"] {
        assert!(!rest.contains(address), "{address} in the page");
    }
    for href in rest.split("href=\"").skip(1) {
        assert!(href.starts_with('"'), "an address: {:.60}", href);
    }
    assert_eq!(
        page.matches("<svg viewBox").count(),
        page.matches("</svg>").count()
    );
}

/// Returns the number of rows of a table.
fn rows(page: &str, id: &str) -> usize {
    let Some(at) = page.find(&format!("<h2 id=\"{id}\">")) else {
        return 0;
    };
    let table = page[at..].split("</tbody>").next().unwrap_or_default();
    table.matches("<tr><td").count()
}

async fn exchange(world: Comm) -> Result<()> {
    let rank = world.rank();
    let region = world.region("solve <x>");
    for step in 0..4 {
        world.compute(1e6 * (rank + 1) as f64).await;
        let mut data = world.buffer(1000 << (2 * step));
        if rank.is_multiple_of(2) {
            world.send(&data, rank + 1, 0).await?;
        } else {
            world.recv(&mut data, rank - 1, 0).await?;
        }
    }
    drop(region);
    world.barrier().await
}

#[test]
fn a_page_has_all_parts_in_order() {
    let page = page_of(&log_of(PLATFORM, 8, exchange), "exchange", Vec::new());
    let parts = [
        "class=\"headline\">The ranks compute for",
        "class=\"stack\"",
        "Timeline of the ranks",
        "What would help",
        "perfect balance of region solve",
        "Utilisation of links",
        "id=\"ranks\"",
        "id=\"waits\"",
        "id=\"regions\"",
        "id=\"path\"",
        "id=\"places\"",
        "id=\"imbalance\"",
        "id=\"hot-links\"",
        "Communication matrix",
        "Sizes of messages",
        "How to run it again",
    ];
    let mut at = 0;
    for part in parts {
        let found = page[at..].find(part);
        at += found.unwrap_or_else(|| panic!("{part} is missing or too early"));
    }
    assert!(!page.contains("<h2>Warnings"));
    assert_eq!(rows(&page, "ranks"), 8);
    assert!(rows(&page, "waits") > 0 && rows(&page, "hot-links") >= 8);
    for kind in ["<title id", "<desc id", "download="] {
        assert_eq!(page.matches(kind).count(), 4, "{kind}");
    }
}

/// Returns the lines of a style in the picture of the topology.
fn lines_of(page: &str, style: &str) -> usize {
    let picture = page
        .split("id=\"topology-title\"")
        .nth(1)
        .expect("a topology");
    let picture = picture.split("</svg>").next().unwrap_or_default();
    let start = format!("<path class=\"{style}\" d=\"");
    let path = picture.split(&*start).nth(1).unwrap_or_default();
    path.split('"')
        .next()
        .unwrap_or_default()
        .matches('M')
        .count()
}

#[test]
fn the_topology_shows_congested_links() {
    // Ranks 1 to 3 send to rank 0 at the same time: its cable is shared, and the cables of ranks 4
    // to 7 are idle. The messages are eager.
    let log = log_of(PLATFORM, 8, |world| async move {
        let mut data = world.buffer(32_000);
        match world.rank() {
            0 => {
                for source in 1..4 {
                    world.recv(&mut data, source, 0).await?;
                }
            }
            1..4 => world.send(&data, 0, 0).await?,
            _ => {}
        }
        Ok(())
    });
    let page = page_with(&log, ("congested", Some(PLATFORM)), Vec::new());
    let found = ["congested", "nothing"].map(|style| lines_of(&page, style));
    assert_eq!(found, [1, 4]);
    assert_eq!(lines_of(&page, "bar"), 8, "a square for each host");
    assert_eq!(lines_of(&page, "switch"), 1);
    assert!(page.contains(">node-0:down</text>"));
    let [topology, links, help] = ["<h2>Topology", "<h2>Congested links", "<h2>What would help"]
        .map(|heading| page.find(heading).expect("a heading"));
    assert!(topology < links && links < help);
    // A backbone has no line.
    let with_backbone =
        format!("{PLATFORM}backbone = {{ bandwidth = \"1MBps\", latency = \"0s\" }}\n");
    let log = log_of(&with_backbone, 8, exchange);
    let page = page_with(&log, ("backbone", Some(&with_backbone)), Vec::new());
    assert!(
        page.contains("; congested, but not drawn: nodes:backbone."),
        "{page}"
    );
    // The platform of another run has none of the links.
    let log = log_of(PLATFORM, 8, exchange);
    let other = PLATFORM.replace("node-", "other-");
    let page = page_with(&log, ("other platform", Some(&other)), Vec::new());
    assert!(!page.contains("<h2>Topology"), "{page}");
}

#[test]
fn tables_are_folded_and_have_one_unit_and_no_row_of_nothing() {
    let page = page_of(&log_of(PLATFORM, 8, exchange), "units", Vec::new());
    assert_eq!(
        page.matches("<details>").count(),
        page.matches("<summary>").count()
    );
    assert!(!page.contains("<details open>"));
    let at = page.find("<h2 id=\"path\">").expect("a critical path");
    let table = page[at..].split("</tbody>").next().unwrap_or_default();
    assert!(table.contains(" ms</td>") && !table.contains(" us</td>"));
    assert!(!table.contains(">0.0 %<"));
}

#[test]
fn names_are_escaped() {
    let notes = vec!["<script>alert(1)</script> & \"more\"".to_owned()];
    let page = page_of(&log_of(PLATFORM, 2, exchange), "<b>\"'&", notes);
    assert_eq!(page.matches("<script").count(), 1);
    assert!(page.contains("&lt;script&gt;alert(1)"));
    assert!(page.contains("<title>&lt;b&gt;&quot;&#x27;&amp;</title>"));
    assert!(page.contains("solve &lt;x&gt;") && !page.contains("<x>"));
    assert!(page.contains("a &lt;program&gt;"));
}

#[test]
fn a_run_of_one_rank() {
    let log = log_of(PLATFORM, 1, |world| async move {
        world.compute(1e6).await;
        Ok(())
    });
    let page = page_of(&log, "one", Vec::new());
    assert_eq!(rows(&page, "ranks"), 1);
    assert!(page.contains("no rank waits for another; 100 % is computation"));
    assert!(page.contains("The log names no links"));
}

#[test]
fn a_run_without_time() {
    let page = page_of(
        &log_of(PLATFORM, 1, |_| async { Ok(()) }),
        "none",
        Vec::new(),
    );
    assert_eq!(rows(&page, "ranks"), 1);
    assert!(!page.contains("NaN") && !page.contains("inf\""));
}

#[test]
fn a_deadlock_is_a_warning() {
    let log = log_of(PLATFORM, 2, |world| async move {
        let mut data = world.buffer(8);
        world.compute(1e6).await;
        if world.rank() == 0 {
            world.compute(1e6).await;
        }
        world.recv(&mut data, 1 - world.rank(), 0).await.map(drop)
    });
    let page = page_of(&log, "deadlock", Vec::new());
    assert!(page.contains("At least 2 of 2 ranks are blocked at the end: a deadlock"));
    assert!(page.contains("blocked at the end"));
}

#[test]
fn two_runs_tell_truncated_logs_and_links_that_are_not_listed() {
    let (first, mut network, _) = analyse_log(&log_of(PLATFORM, 8, exchange));
    let (mut second, mut other) = (first.clone(), network.clone());
    second.whole = false;
    let link = |name: String| LinkLoad {
        name,
        delay_s: first.end_s,
        ..network.hot.by_bytes[0].clone()
    };
    network.hot.by_delay = (0..20).map(|at| link(format!("link-{at}"))).collect();
    other.hot.by_delay = vec![link("only-second".to_owned())];
    other.hot.by_delay[0].delay_s *= 2.0;
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("comparison.html");
    let runs = [("one", &first, &network), ("two", &second, &other)];
    write_comparison(runs, &file).expect("written");
    let page = std::fs::read_to_string(&file).expect("a page");
    assert_eq!(page.matches("log truncated at ").count(), 1);
    assert!(page.contains("two: log truncated at "), "{page}");
    assert_eq!(rows(&page, "links"), 20, "{page}");
    let unknown = "<td>only-second</td><td class=\"n\">–</td>";
    assert!(page.contains(unknown), "{page}");
    // The shorter list has all links that delay.
    assert_eq!(page.matches("<td class=\"n\">–</td>").count(), 1, "{page}");
    assert!(page.contains("<td></td><td></td>"), "{page}");
}

#[test]
fn a_network_without_links() {
    let page = page_of(&log_of(LOGGOPS, 4, exchange), "loggops", Vec::new());
    assert!(page.contains("The log names no links"));
    assert!(!page.contains("Utilisation of links"));
    assert!(page.contains("Communication matrix"));
}

#[test]
fn the_page_of_many_ranks_is_bounded() {
    let platform = PLATFORM.replace("[0-7]", "[0-299]");
    let log = log_of(&platform, 300, |world| async move {
        for step in 0..40 {
            let own = (world.rank() * 7 + step * 13) % 17;
            world.compute(1e5 * own as f64).await;
            world
                .allreduce(world.buffer(800), &Op::sum::<u64>())
                .await?;
        }
        Ok(())
    });
    let page = page_of(&log, "many", Vec::new());
    assert_eq!(rows(&page, "ranks"), 64);
    assert!(page.contains("The 64 of 300 ranks that differ most from the mean"));
}

#[test]
fn a_timeline_with_all_classes_everywhere_is_bounded() {
    let log = LogWriter::new(Vec::new(), 640).finish(1.0).expect("memory");
    let reader = LogReader::new(&*log).expect("a log");
    let analysis = Analysis::new(640).finish_report(&reader);
    let network = NetworkAnalysis::new(640).finish_report(&reader);
    let mut timeline = TimelineOverview::new(640);
    // Every bin of every group has a part of every class, of another length each.
    let mut until = vec![0.0; 640];
    for step in 0..60_000 {
        let rank = step * 7 % 640;
        let from: f64 = until[rank];
        let to = from + 1e-3 * (1 + step * 31 % 17) as f64;
        let class = Class::ALL[step * 11 % Class::ALL.len()];
        timeline.wait_class(u32::try_from(rank).expect("few"), (from, to), class);
        until[rank] = to;
    }
    timeline.finish_overview(1.0);
    let page = ReportPage {
        title: "all classes",
        command: "",
        analysis: &analysis,
        network: &network,
        timeline: Some(&timeline),
        platform: None,
        notes: Vec::new(),
        checked: None,
    };
    let mut out = Vec::new();
    let content = page.page_content().expect("pictures");
    content.write_html(&mut out).expect("memory");
    assert!(out.len() < LIMIT / 2, "{} bytes", out.len());
    let text = String::from_utf8(out).expect("a page is text");
    for class in Class::ALL {
        assert!(text.contains(&format!("> {}</li>", class.name())));
        let style = class.name().replace(", ", "-").replace(' ', "-");
        assert!(
            text.contains(&format!(".{style} {{ fill")),
            "no colour of {style}"
        );
    }
}

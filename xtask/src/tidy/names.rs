//! Words that the project has given up for standard terms (docs/glossary.md) are no names any more.
//!
//! A word counts once for each top folder with code that has the word as an identifier; comments
//! and strings do not count. *Not seen*: words within longer identifiers.

use std::collections::BTreeSet;

use proc_macro2::{Ident, TokenStream, TokenTree};

use super::Finding;
use super::repository::{Repository, Source};

/// Types, traits and variants, and functions: the word, and the replacement.
const GIVEN_UP: &[(&str, &str)] = &[
    ("Porter", "ConnectionManager"),
    ("Gate", "AuthListener"),
    ("Stranger", "PendingHandshake"),
    ("Ticket", "LaunchInfo"),
    ("Meeting", "Bootstrap"),
    ("Spares", "BufferPool"),
    ("Carrier", "SimulatedDevice or DataPath"),
    ("Happening", "DeviceEvent"),
    ("Landing", "ReceiveRegion"),
    ("Shelf", "SharedCq"),
    ("Copies", "BounceBuffers"),
    ("Annex", "RdmaExtension"),
    ("Car", "OutboundMessage"),
    ("Knob", "ControlParameter"),
    ("Laws", "ModelKind"),
    ("Alone", "FixedDuration"),
    ("Rare", "ColdState"),
    ("Way", "Counterexample"),
    ("Ways", "RouteCache"),
    ("WayArgs", "TransportArgs"),
    ("Knowledge", "CausalityTracker"),
    ("Causes", "CausalityHooks"),
    ("Sight", "JobLog"),
    ("Look", "RecordingObserver"),
    ("Ran", "JobResult"),
    ("Seen", "Observation"),
    ("Through", "ObserverAdapter"),
    ("Around", "TerminalGuard"),
    ("Mistake", "Diagnostic"),
    ("Mistakes", "Diagnostics"),
    ("Conductor", "MeasureDriver"),
    ("Sentinel", "ReferenceProbe"),
    ("Piece", "Segment"),
    ("Date", "Timestamp"),
    ("wary", "may_have_effects"),
    ("crowded", "oversubscribed"),
    ("choosers", "order_sensitive"),
    ("bring", "deliver"),
    ("obey", "apply"),
    ("pump", "poll"),
    ("kick", "wake"),
    ("nudge", "wake"),
];

pub(super) fn collect_findings(repository: &Repository) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut known = BTreeSet::new();
    for source in &repository.sources {
        for (line, word, instead) in listed_words(source) {
            let key = format!("{}: {word}", source.folder());
            if known.insert(key.clone()) {
                findings.push(Finding {
                    key,
                    ..source.finding(line, format!("`{word}`: expected {instead}"))
                });
            }
        }
    }
    findings
}

/// Returns the words of the list in a file, with their lines and replacements.
fn listed_words(source: &Source) -> Vec<(usize, &'static str, &'static str)> {
    // Most files have none, and finding letters is much faster than finding identifiers.
    let mut possible = GIVEN_UP
        .iter()
        .filter(|(word, _)| source.text.contains(word))
        .peekable();
    if possible.peek().is_none() {
        return Vec::new();
    }
    let mut identifiers = Vec::new();
    // What the compiler refuses is its business.
    if let Ok(tokens) = source.text.parse::<TokenStream>() {
        collect_identifiers(tokens, &mut identifiers);
    }
    possible
        .filter_map(|&(word, instead)| {
            let identifier = identifiers.iter().find(|identifier| **identifier == word)?;
            Some((identifier.span().start().line, word, instead))
        })
        .collect()
}

fn collect_identifiers(tokens: TokenStream, identifiers: &mut Vec<Ident>) {
    for token in tokens {
        match token {
            TokenTree::Ident(identifier) => identifiers.push(identifier),
            TokenTree::Group(group) => collect_identifiers(group.stream(), identifiers),
            TokenTree::Punct(_) | TokenTree::Literal(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_are_given_up_are_found_once_a_folder() {
        let text = "//! A Porter, in words.\nconst TEXT: &str = \"Porter\";\n\
                    struct Porters;\nfn f() {\n    let x = Porter::new();\n}\n";
        let sources = [
            ("a/src/a.rs", text),
            ("a/src/b.rs", text),
            ("b/src/b.rs", text),
        ];
        let found = collect_findings(&Repository::of_sources(&sources));
        let places: Vec<&str> = found.iter().map(|finding| finding.place.as_str()).collect();
        assert_eq!(places, ["a/src/a.rs:5", "b/src/b.rs:5"]);
        assert_eq!(found[0].text, "`Porter`: expected ConnectionManager");
        assert_eq!(found[0].key, "a: Porter");
    }
}

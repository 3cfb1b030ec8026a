//! Promise: interactions that have found a defect violate no property, on the network of that time
//! and on a network without faults; programs that had a wrong verdict have the right verdict.

use std::path::{Path, PathBuf};

use fuzz::freedoms::{Family, FreedomLayer, FreedomProgram, StatedBounds, enumerate_outcomes};
use fuzz::{Comparison, Faults, FuzzProgram as _, Interaction, RunSettings, check, compare, run};

/// Reads the files of a folder.
fn read_texts(folder: &str) -> Vec<(PathBuf, String)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("regressions")
        .join(folder);
    let files = std::fs::read_dir(folder).expect("the folder");
    let paths = files.map(|file| file.expect("a file").path());
    let read = |path| std::fs::read_to_string(&path).map(|text| (path, text));
    paths.map(|path| read(path).expect("a text")).collect()
}

#[test]
fn what_was_found_stays_mended() {
    let texts = read_texts("interactions");
    assert!(texts.len() >= 25, "{} interactions", texts.len());
    for (path, text) in texts {
        let interaction = Interaction::from_toml(&text).expect("an interaction");
        let run = |interaction: &Interaction| run(interaction, &RunSettings::default());
        assert_eq!(check(&interaction, &run), Ok(None), "{}", path.display());
        let perfect = Interaction::new(Faults::default(), interaction.steps);
        assert_eq!(check(&perfect, &run), Ok(None), "{}", path.display());
    }
}

#[test]
fn programs_with_wrong_verdicts_have_the_right_ones() {
    let texts = read_texts("programs");
    assert!(texts.len() >= 22, "{} programs", texts.len());
    let mut counted = 0;
    let layer = FreedomLayer::new(&Family::ALL);
    for (path, text) in texts {
        let program = FreedomProgram::from_toml(&text).expect("a program");
        let compared = compare(&layer, &program);
        assert_eq!(compared, Comparison::Same, "{}", path.display());
        if let Some(on_paper) = text
            .lines()
            .find_map(|line| line.strip_prefix("# counted: "))
        {
            let outcomes = enumerate_outcomes(&program, StatedBounds::default(), 1_000_000);
            let outcomes = outcomes.expect("few states");
            let found = (outcomes.completing.len(), outcomes.has_deadlock);
            assert_eq!(format!("{found:?}"), on_paper, "{}", path.display());
            counted += 1;
        }
    }
    assert_eq!(counted, 5);
}

//! Promise: interactions that have found a defect violate no property, on a network as it was then
//! and on one without faults.

use std::path::Path;

use fuzz::{Faults, Interaction, RunSettings, check, run};

#[test]
fn what_was_found_stays_mended() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("regressions/interactions");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("an entry").path();
        let text = std::fs::read_to_string(&path).expect("a text");
        let interaction = Interaction::from_toml(&text).expect("an interaction");
        let run = |interaction: &Interaction| run(interaction, &RunSettings::default());
        assert_eq!(check(&interaction, &run), Ok(None), "{}", path.display());
        let perfect = Interaction::new(Faults::default(), interaction.steps);
        assert_eq!(check(&perfect, &run), Ok(None), "{}", path.display());
        count += 1;
    }
    assert!(count >= 25, "{count} interactions");
}

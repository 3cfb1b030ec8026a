//! Position of an endless campaign on disk: written after each batch, whole or not at all, so a
//! killed campaign continues with its last batch.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::backend::Backend;
use crate::{CampaignSettings, Position};

/// The file of the position.
fn file(folder: &Path) -> PathBuf {
    folder.join("position.json")
}

/// Returns a text that differs between campaigns with other interactions or runs.
pub(super) fn campaign_identity(settings: &CampaignSettings, backend: &Backend) -> String {
    format!("{} {:?} {backend:?}", settings.seed, settings.generator)
}

/// Returns the position in a folder; the first one if there is none.
pub(super) fn read_position(folder: &Path, identity: &str) -> Result<Position, String> {
    let file = file(folder);
    let text = match files::read_state(&file) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Position::default()),
        read => read.map_err(|error| format!("{}: {error}", file.display()))?,
    };
    let found: Result<(String, Position), _> = serde_json::from_str(&text);
    let (campaign, position) = found.map_err(|error| format!("{}: {error}", file.display()))?;
    if campaign != identity {
        return Err(format!(
            "{}: a campaign with other options: expected another --out, or no such file",
            file.display()
        ));
    }
    Ok(position)
}

/// Writes a position.
pub(super) fn write_position(
    folder: &Path,
    identity: &str,
    position: &Position,
) -> Result<(), String> {
    let text = serde_json::json!([identity, position]).to_string();
    files::write(&file(folder), text).map_err(|error| error.to_string())
}

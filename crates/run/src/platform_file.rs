//! Platform files of every format, told apart by the ending of their names.

use std::path::Path;

use platform::{LoadError, Override, Platform};

/// Reads the platform file at `path` and applies the overrides: SimGrid's XML if the name of the
/// file ends with `.xml`, otherwise TOML.
pub fn load_platform(path: &Path, changes: &[Override]) -> Result<Platform, LoadError> {
    let ending = path.extension().unwrap_or_default();
    let platform = if ending.eq_ignore_ascii_case("xml") {
        simgrid_import::load(path)
    } else {
        Platform::load(path)
    };
    platform?.with_overrides(&path.display().to_string(), changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_by_its_ending() {
        let folder = std::env::temp_dir().join(format!("simrun-endings-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let xml = "<platform version=\"4.1\"><zone id=\"w\" routing=\"None\">\
                   <host id=\"a\" speed=\"1Gf\"/></zone></platform>";
        let toml = "version = 1\nhosts.a.speed = \"1Gf\"\n";
        let change: Override = "hosts.a.cores=3".parse().expect("a change");
        for (name, text, fits) in [
            ("p.xml", xml, true),
            ("p.XML", xml, true),
            ("p.toml", toml, true),
            ("platform", toml, true),
            ("x.toml", xml, false),
            ("t.xml", toml, false),
        ] {
            let file = folder.join(name);
            std::fs::write(&file, text).expect("a file");
            let found = load_platform(&file, std::slice::from_ref(&change));
            assert_eq!(found.is_ok(), fits, "{name}");
            if let Ok(platform) = found {
                assert_eq!(platform.cores(platform::HostId(0)), 3);
            }
        }
        std::fs::remove_dir_all(&folder).expect("the folder");
    }
}

//! SimGrid's XML platforms, versions 4 and 4.1, as platforms ([`load`]) or as TOML ([`import`]),
//! with the same routes and the same network model: the model of `<config>`, or else `lv08`,
//! SimGrid's default.
//!
//! The outermost zone of the XML becomes the platform itself. Parts that our platform files cannot
//! express are left out and listed in [`ImportedPlatform::notes`] with their positions; a part that
//! cannot be understood is a mistake. Routes are the routes of SimGrid, including its defects in
//! fat trees and dragonflies (`compat = "simgrid-4.1"`). The network also has this key if a link
//! has no latency and the model shares by round-trip times: SimGrid gives a route without latency
//! weight 1.
//!
//! *Not carried over*: profiles of the links of a cluster; properties other than `access_point`,
//! which are one note; Wi-Fi links outside of Wi-Fi zones; flags in `<config>` that do not belong
//! to the network models. A bypass route that begins or ends at the gateway itself does not cross
//! the implicit loopback of that host, unlike in SimGrid.
//!
//! The result has entries with positions in the XML and is not TOML text. So a mistake about the
//! whole platform (an unknown gateway, two hosts with one name) has a line of the XML, too.
//!
//! Tags are read as a stream without expanding entities, nesting is bounded, and clusters stay one
//! entry, so that the result is never much larger than the file.

mod cluster;
mod config;
mod disk;
mod traces;
mod values;
mod wifi;
mod xml;
mod zone;

use std::path::Path;

use platform::file::{PlatformFile, VERSION, ZoneEntry};
use platform::{Diagnostics, ImportNote, LoadError, Platform, Source, read_text};
use values::{Files, Importer};
use xml::Element;

/// A SimGrid platform as ours.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportedPlatform {
    /// The platform in our format.
    pub toml: String,
    /// Parts that could not be carried over.
    pub notes: Vec<ImportNote>,
}

/// Turns the text of a SimGrid XML platform into TOML, in which profiles that are in files are
/// named; mistakes are reported as in a file called `file_name`.
pub fn import(file_name: &str, text: &str) -> Result<ImportedPlatform, Diagnostics> {
    read_xml(file_name, text, Files::Named).map(ImportedPlatform::from)
}

/// Converts a SimGrid XML platform to TOML, with the profiles in files beside the platform.
pub fn import_file(path: impl AsRef<Path>) -> Result<ImportedPlatform, LoadError> {
    let path = path.as_ref();
    let text = read_text(path)?;
    let name = path.display().to_string();
    let read = read_xml(&name, &text, Files::from_folder(path.parent()))
        .map_err(LoadError::Diagnostics)?;
    Ok(ImportedPlatform::from(read))
}

/// Reads a SimGrid XML platform, with the profiles in files beside the platform.
pub fn load(path: impl AsRef<Path>) -> Result<Platform, LoadError> {
    let path = path.as_ref();
    let text = read_text(path)?;
    let name = path.display().to_string();
    build(&name, &text, Files::from_folder(path.parent())).map_err(LoadError::Diagnostics)
}

/// Reads a platform from SimGrid's XML text. Mistakes name the file `file_name`. The text is no
/// file, so it cannot refer to other files.
pub fn parse(file_name: &str, text: &str) -> Result<Platform, LoadError> {
    build(file_name, text, Files::Nowhere).map_err(LoadError::Diagnostics)
}

fn build(file_name: &str, text: &str, files: Files) -> Result<Platform, Diagnostics> {
    let read = read_xml(file_name, text, files)?;
    Platform::from_file(read.source, read.file, read.notes)
}

/// An XML text, read as a platform file; its names have positions in the XML.
struct XmlRead {
    source: Source,
    file: PlatformFile,
    notes: Vec<ImportNote>,
}

impl From<XmlRead> for ImportedPlatform {
    fn from(read: XmlRead) -> Self {
        Self {
            toml: read.file.to_toml(),
            notes: read.notes,
        }
    }
}

fn read_xml(file_name: &str, text: &str, files: Files) -> Result<XmlRead, Diagnostics> {
    let source = Source::new(file_name, text);
    let root = match xml::parse(text) {
        Ok(root) => root,
        Err(diagnostic) => return Err(Diagnostics::new(source, vec![diagnostic])),
    };
    let mut importer = Importer::default();
    importer.files = files;
    let zone = outermost_zone(&mut importer, &root);
    let (network, protocol) = importer.config(&root);
    importer.note_unused_connections();
    importer.note_properties();
    if !importer.mistakes.is_empty() {
        return Err(Diagnostics::new(source, importer.mistakes));
    }
    let file = PlatformFile {
        version: VERSION,
        name: Some(importer.name),
        network,
        protocol,
        connection: platform::Connection::default(),
        collectives: platform::Collectives::default(),
        memory: platform::Memory::default(),
        noise: platform::Noise::default(),
        root: zone,
    };
    let mut notes: Vec<ImportNote> = importer
        .notes
        .iter()
        .map(|(at, text_of_note)| ImportNote {
            file: file_name.to_owned(),
            line: source.line_and_column(*at).0,
            text: text_of_note.clone(),
        })
        .collect();
    notes.sort_by_key(|note| note.line);
    Ok(XmlRead {
        source,
        file,
        notes,
    })
}

/// The outermost zone.
fn outermost_zone(importer: &mut Importer, root: &Element) -> ZoneEntry {
    if root.name != "platform" {
        let problem = format!("the outermost tag is <{}>", root.name);
        importer.diagnostic(root, problem, "expected <platform version=\"4.1\">");
        return ZoneEntry::default();
    }
    check_version(importer, root);
    importer.collect_names(root);
    let mut outermost = None;
    for child in &root.children {
        match child.name.as_str() {
            "zone" | "AS" | "cluster" if outermost.is_some() => {
                let problem = format!("a second outermost <{}>", child.name);
                let expected = "expected one zone around all others";
                importer.diagnostic(child, problem, expected);
            }
            "zone" | "AS" => {
                importer.name = child.get("id").unwrap_or_default().to_owned();
                outermost = Some(importer.zone(child));
            }
            "cluster" => {
                importer.name = child.get("id").unwrap_or_default().to_owned();
                let mut zone = ZoneEntry::default();
                zone.clusters.extend(importer.cluster(child));
                outermost = Some(zone);
            }
            "trace" | "trace_connect" | "config" => {}
            "prop" => importer.left_out(child),
            "include" => {
                let problem = "<include> is no longer supported by SimGrid".to_owned();
                let expected = "expected the content of the file in its place";
                importer.diagnostic(child, problem, expected);
            }
            _ => importer.unknown(child),
        }
    }
    if outermost.is_none() && !importer.deploys {
        let problem = "the platform has no zone".to_owned();
        importer.diagnostic(root, problem, "expected a <zone> or a <cluster> in it");
    }
    outermost.unwrap_or_default()
}

/// Accepts 4 and 4.1.
fn check_version(importer: &mut Importer, root: &Element) {
    let version = root.get("version").unwrap_or_default();
    if !matches!(version, "4" | "4.0" | "4.1") {
        let problem = format!("unknown version {version:?} of a SimGrid platform");
        let expected = "expected 4 or 4.1; convert older files with simgrid_update_xml";
        importer.diagnostic(root, problem, expected);
    }
}

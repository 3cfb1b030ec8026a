//! Conversion of the text of a platform file to typed data. All mistakes are collected.
//!
//! `zone` reads the contents of zones; the platform is the outermost zone.

use std::path::Path;

use toml::Spanned;
use toml::de::{DeTable, DeValue};

use super::field::{InvalidValue, cut};
use super::names::Names;
use super::section::Collector;
use super::syntax::syntax;
use super::zone::ZoneReader;
use super::{Collectives, Connection, Memory, PlatformFile, Protocol, VERSION, ZoneEntry};
use crate::diagnostic::Diagnostic;
use crate::network::{NetworkModel, NetworkParameters};
use crate::noise::Noise;

/// Result of reading: the file if it has no mistake, and the names of all entries in any case.
#[derive(Debug)]
pub(crate) struct Read {
    pub(crate) file: PlatformFile,
    pub(crate) collector: Collector,
    pub(crate) names: Names,
}

/// Reads a platform file; files that the text names are searched for in `folder`.
///
/// # Errors
/// Only the mistakes that make further reading pointless: TOML syntax, or another version of the
/// format. All other mistakes are in [`Read::collector`].
pub(crate) fn read_platform_file(
    text: &str,
    folder: Option<&Path>,
) -> Result<Read, Vec<Diagnostic>> {
    let (document, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        return Err(syntax(text, &errors));
    }
    let mut reader = Read::new();
    reader.collector.folder = folder.map(Path::to_owned);
    reader.document(document.get_ref());
    if reader.file.version != VERSION {
        return Err(reader.collector.mistakes);
    }
    Ok(reader)
}

impl Read {
    /// Returns the same result for a file that comes from another format.
    pub(crate) fn from_file(file: PlatformFile) -> Self {
        let names = Names::from_root(&file.root);
        Self {
            file,
            collector: Collector::default(),
            names,
        }
    }

    fn new() -> Self {
        Self {
            file: PlatformFile {
                version: VERSION,
                name: None,
                network: NetworkParameters::preset(NetworkModel::DEFAULT),
                protocol: Protocol::default(),
                connection: Connection::default(),
                collectives: Collectives::default(),
                memory: Memory::default(),
                noise: Noise::default(),
                root: ZoneEntry::default(),
            },
            collector: Collector::default(),
            names: Names::default(),
        }
    }

    fn document(&mut self, document: &DeTable<'_>) {
        const KEYS: [&str; 18] = [
            "version",
            "name",
            "network",
            "protocol",
            "connection",
            "collectives",
            "memory",
            "noise",
            "routing",
            "wifi",
            "gateway",
            "to_itself",
            "routers",
            "hosts",
            "links",
            "clusters",
            "zones",
            "routes",
        ];
        if !self.version(document.get("version")) {
            return;
        }
        let what = "platform file".to_owned();
        let root = self.collector.open_table(document, 0..0, what, &KEYS);
        if let Some(name) = self.collector.optional(&root, "name") {
            self.file.name = name;
        }
        if let Some(value) = root.get("network") {
            let read = super::network::read_network(&mut self.collector, value);
            self.file.network = read.unwrap_or(self.file.network.clone());
        }
        if let Some(value) = root.get("protocol") {
            self.read_protocol(value);
        }
        if let Some(value) = root.get("connection") {
            let connection = &mut self.file.connection;
            let network = &self.file.network;
            super::connection::read_connection(&mut self.collector, value, (connection, network));
        }
        if let Some(value) = root.get("collectives") {
            let collectives = &mut self.file.collectives;
            super::collectives::collectives(&mut self.collector, value, collectives);
        }
        if let Some(value) = root.get("memory") {
            let reduces = self.file.collectives.reduce_bandwidth.is_some();
            let memory = (&mut self.file.memory, reduces);
            super::memory::read_memory(&mut self.collector, value, memory);
        }
        if let Some(value) = root.get("noise") {
            let PlatformFile { network, noise, .. } = &mut self.file;
            super::noise::noise(&mut self.collector, value, network, noise);
        }
        self.file.root = ZoneReader::new(&mut self.collector, &mut self.names).root(&root);
        let has_links = !self.names.links.is_empty() || !self.names.clusters.is_empty();
        if has_links
            && self.file.network.loggops.is_some()
            && let Some(value) = root.get("network")
        {
            super::network::require_costs(&mut self.collector, value);
        }
    }

    /// Records a mistake unless the version is [`VERSION`]. Returns false for another number.
    fn version(&mut self, value: Option<&Spanned<DeValue<'_>>>) -> bool {
        let Some(value) = value else {
            self.collector.add(
                0..0,
                "the platform file has no \"version\"".to_owned(),
                format!("expected version = {VERSION} before the first table"),
                Some(format!("add: version = {VERSION}")),
            );
            return true;
        };
        let number = value
            .get_ref()
            .as_integer()
            .map(|number| i64::from_str_radix(number.as_str(), number.radix()));
        match number {
            Some(Ok(VERSION)) => true,
            Some(_) => {
                let found = value.get_ref().as_integer().map(ToString::to_string);
                let problem = format!("unknown version {}", cut(&found.unwrap_or_default()));
                let expected = format!("expected {VERSION}");
                self.collector.add(value.span(), problem, expected, None);
                self.file.version = 0;
                false
            }
            None => {
                let wrong = InvalidValue::kind(value.get_ref(), &format!("the number {VERSION}"));
                self.collector.wrong(value.span(), wrong);
                true
            }
        }
    }

    fn read_protocol(&mut self, value: &Spanned<DeValue<'_>>) {
        super::protocol::read_protocol(&mut self.collector, value, &mut self.file.protocol);
    }
}

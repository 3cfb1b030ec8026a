//! Hosts of the ranks.
//!
//! With at most as many ranks as hosts, *block* and *cyclic* are the same: rank r on host r. With
//! more, *block* keeps consecutive ranks together (rank r of n on host floor(r·H/n)) and *cyclic*
//! deals them out (host r mod H). *Blocks of N* puts N ranks on each host: rank r on host
//! floor(r/N). *Random* is cyclic over the hosts in a random order, drawn from the stream
//! `mapping`; *by name* is cyclic over the hosts in the order of their names, letter by letter
//! (`node-10` before `node-2`), as in SMPI. A file, or a list on the command line, has host
//! names, `name:2` or `name slots=2` for two ranks, on lines or with commas; `#` begins a comment.

use std::fmt;
use std::num::IntErrorKind;
use std::path::{Path, PathBuf};

use platform::Platform;
use sim_core::{HostId, Stream};

/// The most ranks that a line of a mapping file places: memory for their names is taken at once.
const COUNT_MAX: usize = 1 << 24;

/// Mappings of ranks to hosts.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum Mapping {
    /// Consecutive ranks together.
    #[default]
    Block,
    /// This many consecutive ranks on each host, at least 1.
    Blocks(u32),
    /// One rank per host in turn.
    Cyclic,
    /// One rank per host in turn, the hosts in random order.
    Random,
    /// One rank per host in turn, the hosts in the order of their names.
    ByName,
    /// As a file says.
    File(RankMap),
}

/// A mapping file that has been read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RankMap {
    path: PathBuf,
    /// Host name and line of each rank.
    lines: Vec<(String, usize)>,
}

/// A mistake in a mapping.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum MappingError {
    /// The number of ranks on a host is not a number of at least 1.
    Blocks {
        /// The text.
        found: String,
    },
    /// The ranks on each host are too few to place all ranks.
    TooManyRanks {
        /// The number of ranks.
        ranks: u32,
        /// The number of hosts.
        hosts: u32,
        /// The number of ranks on each host.
        each: u32,
    },
    /// A mistake in a mapping file.
    File {
        /// The file.
        path: PathBuf,
        /// The line, from 1, of a mistake in a line.
        line: Option<usize>,
        /// The mistake.
        problem: FileProblem,
    },
}

/// A mistake in a mapping file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FileProblem {
    /// The file cannot be read, for this reason.
    Unreadable(String),
    /// A text that is not `name` or `name:count`.
    Host(String),
    /// The file is XML, such as a deployment file of SimGrid: the first tag that places a program,
    /// or else the first tag, without attributes.
    Xml(String),
    /// A number of ranks on a host that is too large.
    Count(String),
    /// The platform has no host of this name, but perhaps one of a similar name.
    UnknownHost(String, Option<String>),
    /// The file names no host at all.
    Empty,
    /// The file places fewer ranks than there are: both numbers.
    TooFew(usize, u32),
}

impl fmt::Display for MappingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Blocks { found } => write!(
                f,
                "invalid mapping block:{found}: expected block:N, with N ranks on each host, N >= 1"
            ),
            Self::TooManyRanks { ranks, hosts, each } => {
                let places = u64::from(*hosts) * u64::from(*each);
                write!(
                    f,
                    "mapping block:{each} has room for {places} ranks on {hosts} hosts: {ranks} \
                     required"
                )
            }
            Self::File {
                path,
                line,
                problem,
            } => {
                write!(f, "{}:", path.display())?;
                line.map_or(Ok(()), |line| write!(f, "{line}:"))?;
                write!(f, " {problem}")
            }
        }
    }
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(problem) => f.write_str(problem),
            Self::Host(found) => write!(
                f,
                "invalid host \"{found}\": expected NAME or NAME:COUNT, COUNT >= 1"
            ),
            Self::Xml(tag) => {
                let role = match tag.as_str() {
                    "actor" | "process" => "belongs to a deployment file",
                    _ => "is no host",
                };
                write!(
                    f,
                    "<{tag}> {role}: expected one host per line, NAME or NAME:COUNT; \
                     programs get their arguments after --"
                )
            }
            Self::Count(found) => {
                write!(f, "{found} ranks on a host: expected at most {COUNT_MAX}")
            }
            Self::UnknownHost(name, near) => {
                let help = near.iter().map(|near| format!("; did you mean {near:?}?"));
                write!(
                    f,
                    "the platform has no host \"{name}\"{}",
                    help.collect::<String>()
                )
            }
            Self::Empty => f.write_str("empty mapping file: expected lines NAME or NAME:COUNT"),
            Self::TooFew(placed, ranks) => write!(f, "{placed} ranks mapped, {ranks} required"),
        }
    }
}

impl std::error::Error for MappingError {}

impl RankMap {
    /// Reads a mapping file, or a list of hosts with commas.
    pub fn read_map(map: &Path) -> Result<Self, MappingError> {
        Self::parse(map, &Self::read_text(map)?)
    }

    /// Reads the text of a mapping file, or the list of hosts itself.
    pub fn read_text(path: &Path) -> Result<String, MappingError> {
        if let Some(list) = path.to_str().filter(|list| list.contains(','))
            && !path.exists()
        {
            return Ok(list.to_owned());
        }
        files::read_text(path).map_err(|error| {
            let problem = match error.kind() {
                std::io::ErrorKind::NotFound => {
                    "there is no such file: expected block, block:N, cyclic, random, by-name, a \
                     file of host names or a list HOST,HOST"
                        .to_owned()
                }
                std::io::ErrorKind::IsADirectory => {
                    "it is a directory: expected a file of host names".to_owned()
                }
                _ => error.to_string(),
            };
            MappingError::in_file(path, None, FileProblem::Unreadable(problem))
        })
    }

    /// Reads the text of a mapping file with this name.
    pub fn parse(path: &Path, text: &str) -> Result<Self, MappingError> {
        if let Some((line, tag)) = first_tag(text) {
            return Err(MappingError::in_file(
                path,
                Some(line),
                FileProblem::Xml(tag),
            ));
        }
        let entries = (1..).zip(text.lines()).flat_map(|(number, line)| {
            let entries = line.split('#').next().unwrap_or_default().split(',');
            entries.map(move |entry| (number, entry.trim()))
        });
        let mut lines = Vec::new();
        for (line, entry) in entries.filter(|(_, entry)| !entry.is_empty()) {
            let (name, count) = read_entry(entry)
                .map_err(|problem| MappingError::in_file(path, Some(line), problem))?;
            lines.extend(std::iter::repeat_n((name.to_owned(), line), count));
        }
        if lines.is_empty() {
            return Err(MappingError::in_file(path, None, FileProblem::Empty));
        }
        Ok(Self {
            path: path.to_owned(),
            lines,
        })
    }
}

impl MappingError {
    fn in_file(path: &Path, line: Option<usize>, problem: FileProblem) -> Self {
        Self::File {
            path: path.to_owned(),
            line,
            problem,
        }
    }
}

/// Returns the name of a host and its number of ranks.
fn read_entry(entry: &str) -> Result<(&str, usize), FileProblem> {
    let (name, count) = entry.split_once(':').unwrap_or_else(|| split_slots(entry));
    let (name, count) = (name.trim(), count.trim());
    match count.parse::<usize>() {
        Ok(number) if number > COUNT_MAX => Err(FileProblem::Count(count.to_owned())),
        Err(error) if *error.kind() == IntErrorKind::PosOverflow => {
            Err(FileProblem::Count(count.to_owned()))
        }
        Ok(number) if number > 0 && !name.is_empty() => Ok((name, number)),
        _ => Err(FileProblem::Host(entry.to_owned())),
    }
}

/// The name and the number of ranks in a line of a host file of Open MPI, `name slots=2`; any other
/// text is a name. A rank has one slot, and `max_slots` has no effect.
fn split_slots(entry: &str) -> (&str, &str) {
    let mut words = entry.split_whitespace();
    let name = words.next().unwrap_or_default();
    let mut count = "1";
    for word in words {
        match word.split_once('=') {
            Some(("slots", number)) => count = number,
            Some(("max_slots" | "max-slots", _)) => {}
            _ => return (entry, "1"),
        }
    }
    (name, count)
}

/// Returns the first tag that places a program, or else the first tag, of an XML text, with the
/// line of the tag.
fn first_tag(text: &str) -> Option<(usize, String)> {
    const BYTE_ORDER_MARK: char = '\u{feff}';
    if !text
        .trim_start_matches([BYTE_ORDER_MARK, ' ', '\t', '\r', '\n'])
        .starts_with('<')
    {
        return None;
    }
    let mut first = None;
    for (at, _) in text.match_indices('<') {
        let mut words = text[at + 1..].split(|letter: char| !letter.is_ascii_alphanumeric());
        let name = words.next().unwrap_or_default();
        let line = text[..at].matches('\n').count() + 1;
        if matches!(name, "actor" | "process") {
            return Some((line, name.to_owned()));
        }
        // Comments and declarations have no name.
        if first.is_none() && !name.is_empty() {
            first = Some((line, name.to_owned()));
        }
    }
    first.or_else(|| Some((1, String::new())))
}

impl RankMap {
    /// The names of the hosts of this many ranks, by rank; of all that are placed if no number is
    /// given.
    pub fn host_names(&self, ranks: Option<u32>) -> Result<Vec<String>, MappingError> {
        let all = u32::try_from(self.lines.len()).unwrap_or(u32::MAX);
        self.find_hosts(ranks.unwrap_or(all), |name, _| Ok(name.to_owned()))
    }

    /// Returns the hosts of this many ranks, each found by name and line: an unknown host is told
    /// before a number of hosts that is too small.
    fn find_hosts<Host>(
        &self,
        ranks: u32,
        find: impl Fn(&str, usize) -> Result<Host, MappingError>,
    ) -> Result<Vec<Host>, MappingError> {
        let named = self.lines.iter().take(ranks as usize);
        let found: Vec<Host> = named
            .map(|(name, line)| find(name, *line))
            .collect::<Result<_, _>>()?;
        match found.len() {
            placed if placed < ranks as usize => {
                let problem = FileProblem::TooFew(placed, ranks);
                Err(MappingError::in_file(&self.path, None, problem))
            }
            _ => Ok(found),
        }
    }

    fn place_ranks(&self, platform: &Platform, ranks: u32) -> Result<Vec<HostId>, MappingError> {
        self.find_hosts(ranks, |name, line| {
            platform.host_by_name(name).ok_or_else(|| {
                let near = platform.nearest_host(name);
                let problem = FileProblem::UnknownHost(name.to_owned(), near);
                MappingError::in_file(&self.path, Some(line), problem)
            })
        })
    }
}

impl Mapping {
    /// The number of ranks if the user gives none: one per host, or as many as the file places.
    pub fn default_ranks(&self, hosts: u32) -> u32 {
        match self {
            Self::Block | Self::Cyclic | Self::Random | Self::ByName => hosts,
            Self::Blocks(each) => hosts.saturating_mul(*each),
            Self::File(file) => u32::try_from(file.lines.len()).unwrap_or(u32::MAX),
        }
    }

    /// The host of each rank.
    ///
    /// # Panics
    /// If the platform has no hosts, which no platform file can say.
    pub fn place_ranks(
        &self,
        platform: &Platform,
        ranks: u32,
        seed: u64,
    ) -> Result<Vec<HostId>, MappingError> {
        let hosts = platform.host_count();
        let each = |host: &dyn Fn(u32) -> u32| (0..ranks).map(|rank| HostId(host(rank))).collect();
        match self {
            Self::Block if ranks > hosts => {
                let host = |rank| u64::from(rank) * u64::from(hosts) / u64::from(ranks);
                Ok(each(&|rank| {
                    u32::try_from(host(rank)).expect("below the number of hosts")
                }))
            }
            Self::Blocks(each) if u64::from(ranks) > u64::from(hosts) * u64::from(*each) => {
                let each = *each;
                Err(MappingError::TooManyRanks { ranks, hosts, each })
            }
            Self::Blocks(count) => Ok(each(&|rank| rank / count)),
            Self::Block | Self::Cyclic => Ok(each(&|rank| rank % hosts)),
            Self::Random => {
                let mut order: Vec<u32> = (0..hosts).collect();
                Stream::new(seed, "mapping").shuffle(&mut order);
                Ok(each(&|rank| order[(rank % hosts) as usize]))
            }
            Self::ByName => {
                let mut order: Vec<u32> = (0..hosts).collect();
                order.sort_by_cached_key(|&host| platform.host_name(HostId(host)).into_owned());
                Ok(each(&|rank| order[(rank % hosts) as usize]))
            }
            Self::File(file) => file.place_ranks(platform, ranks),
        }
    }
}

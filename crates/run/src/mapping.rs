//! Hosts of the ranks.
//!
//! With at most as many ranks as hosts, *block* and *cyclic* are the same: rank r on host r. With
//! more, *block* keeps consecutive ranks together (rank r of n on host floor(r·H/n)) and *cyclic*
//! deals them out (host r mod H). *Blocks of N* puts N ranks on each host: rank r on host
//! floor(r/N). *Random* is cyclic over the hosts in a random order, drawn from the stream
//! `mapping`. A file has one host name per line, with `name:count` for several ranks on
//! it; `#` begins a comment.

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
    /// The file cannot be read.
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        problem: String,
    },
    /// A line is not `name` or `name:count`.
    Line {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// Its text.
        found: String,
    },
    /// It is a file of XML, such as a deployment file of SimGrid.
    Xml {
        /// The file.
        path: PathBuf,
        /// The line of its first tag that places a program, or else of its first tag, from 1.
        line: usize,
        /// That tag, without attributes.
        tag: String,
    },
    /// The number of ranks of a host is too large.
    Count {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The number.
        found: String,
    },
    /// The platform has no such host.
    UnknownHost {
        /// The file.
        path: PathBuf,
        /// The line, from 1.
        line: usize,
        /// The name.
        name: String,
    },
    /// The file names no host at all.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// The file names fewer hosts than there are ranks.
    TooFew {
        /// The file.
        path: PathBuf,
        /// The hosts it names, each as often as it has ranks.
        named: usize,
        /// The number of ranks.
        ranks: u32,
    },
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
            Self::Unreadable { path, problem } => write!(f, "{}: {problem}", path.display()),
            Self::Line { path, line, found } => write!(
                f,
                "{}:{line}: invalid host \"{found}\": expected NAME or NAME:COUNT, COUNT >= 1",
                path.display()
            ),
            Self::Xml { path, line, tag } => {
                let what = match tag.as_str() {
                    "actor" | "process" => "belongs to a deployment file",
                    _ => "is no host",
                };
                write!(
                    f,
                    "{}:{line}: <{tag}> {what}: expected one host per line, NAME or NAME:COUNT; \
                     programs get their arguments after --",
                    path.display()
                )
            }
            Self::Count { path, line, found } => write!(
                f,
                "{}:{line}: {found} ranks on a host: expected at most {COUNT_MAX}",
                path.display()
            ),
            Self::UnknownHost { path, line, name } => {
                write!(
                    f,
                    "{}:{line}: the platform has no host \"{name}\"",
                    path.display()
                )
            }
            Self::Empty { path } => write!(
                f,
                "{}: empty mapping file: expected lines NAME or NAME:COUNT",
                path.display()
            ),
            Self::TooFew { path, named, ranks } => write!(
                f,
                "{}: {named} ranks mapped, {ranks} required",
                path.display()
            ),
        }
    }
}

impl std::error::Error for MappingError {}

impl RankMap {
    /// Reads a mapping file.
    pub fn read(path: &Path) -> Result<Self, MappingError> {
        let unreadable = |error: std::io::Error| MappingError::Unreadable {
            path: path.to_owned(),
            problem: match error.kind() {
                std::io::ErrorKind::NotFound => {
                    "there is no such file: expected block, block:N, cyclic, random or a file of \
                     host names"
                        .to_owned()
                }
                std::io::ErrorKind::IsADirectory => {
                    "it is a directory: expected a file of host names".to_owned()
                }
                _ => error.to_string(),
            },
        };
        Self::parse(path, &files::read_text(path).map_err(unreadable)?)
    }

    /// Reads the text of a mapping file with this name.
    pub fn parse(path: &Path, text: &str) -> Result<Self, MappingError> {
        if let Some((line, tag)) = first_tag(text) {
            let path = path.to_owned();
            return Err(MappingError::Xml { path, line, tag });
        }
        let mut lines = Vec::new();
        for (number_of_line, line) in (1..).zip(text.lines()) {
            let entry = line.split('#').next().unwrap_or_default().trim();
            if entry.is_empty() {
                continue;
            }
            let (name, count) = entry.split_once(':').unwrap_or_else(|| split_slots(entry));
            let count = count.trim();
            let number: Result<usize, _> = count.parse();
            let is_too_large = match &number {
                Ok(number) => *number > COUNT_MAX,
                Err(error) => *error.kind() == IntErrorKind::PosOverflow,
            };
            if is_too_large {
                return Err(MappingError::Count {
                    path: path.to_owned(),
                    line: number_of_line,
                    found: count.to_owned(),
                });
            }
            let count = number.ok().filter(|&count| count > 0);
            let (Some(count), false) = (count, name.trim().is_empty()) else {
                return Err(MappingError::Line {
                    path: path.to_owned(),
                    line: number_of_line,
                    found: entry.to_owned(),
                });
            };
            let entry = (name.trim().to_owned(), number_of_line);
            lines.extend(std::iter::repeat_n(entry, count));
        }
        if lines.is_empty() {
            return Err(MappingError::Empty {
                path: path.to_owned(),
            });
        }
        Ok(Self {
            path: path.to_owned(),
            lines,
        })
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

/// The first tag that places a program, or else the first tag, of a text that is XML; with its
/// line.
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
    pub fn names(&self, ranks: Option<u32>) -> Result<Vec<String>, MappingError> {
        let named = self.lines.len();
        let ranks = ranks.unwrap_or_else(|| u32::try_from(named).unwrap_or(u32::MAX));
        let lines = self.lines.get(..ranks as usize);
        let path = || self.path.clone();
        let lines = lines.ok_or_else(|| MappingError::TooFew {
            path: path(),
            named,
            ranks,
        })?;
        Ok(lines.iter().map(|(name, _)| name.clone()).collect())
    }
}

impl Mapping {
    /// The number of ranks if the user gives none: one per host, or as many as the file places.
    pub fn default_ranks(&self, hosts: u32) -> u32 {
        match self {
            Self::Block | Self::Cyclic | Self::Random => hosts,
            Self::Blocks(each) => hosts.saturating_mul(*each),
            Self::File(file) => u32::try_from(file.lines.len()).unwrap_or(u32::MAX),
        }
    }

    /// The host of each rank.
    ///
    /// # Panics
    /// If the platform has no hosts, which no platform file can say.
    pub fn place(
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
            Self::File(file) => file.place(platform, ranks),
        }
    }
}

impl RankMap {
    fn place(&self, platform: &Platform, ranks: u32) -> Result<Vec<HostId>, MappingError> {
        if self.lines.len() < ranks as usize {
            return Err(MappingError::TooFew {
                path: self.path.clone(),
                named: self.lines.len(),
                ranks,
            });
        }
        let find = |(name, line): &(String, usize)| {
            platform
                .host_by_name(name)
                .ok_or_else(|| MappingError::UnknownHost {
                    path: self.path.clone(),
                    line: *line,
                    name: name.clone(),
                })
        };
        self.lines[..ranks as usize].iter().map(find).collect()
    }
}

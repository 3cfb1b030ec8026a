//! The points of a study with everything that decides their results, and its folder.
//!
//! A study keeps copies of its program, platforms and mappings. So it continues with the same ones,
//! and `simrun study work` needs the folder alone.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::ExitCode;

use clap::{Args as _, FromArgMatches as _};
use files::FolderLock;
use platform::{LoadError, Override};
use run::{Mapping, RankMap};
use simrun::args::{RunArgs, mapping};
use simrun::package::{self, Executable};
use simrun::{PROGRAM_MAX, REVISION, status};

use super::share::Share;
use crate::{
    KeyContent, PlannedPoint, Point, PointResults, ResultError, ResultSet, Study, StudyFolder,
    sha256,
};

/// The name of the program within the folder.
const PROGRAM: &str = "program";

/// The folder of its own libraries, if it is a compiled MPI program with some.
const LIBRARIES: &str = "libraries";

/// Number of points whose mistakes are shown.
const SHOWN: usize = 10;

/// The way in which the points of a study are chosen.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Choice {
    /// All at once, by the file.
    All,
    /// One after another.
    Search,
}

/// A study, its folder, and its points: in the order of their keys, or that of their choice.
#[derive(Debug)]
pub(super) struct StudyPlan {
    pub(super) study: Study,
    pub(super) folder: StudyFolder,
    pub(super) points: Vec<PlannedPoint>,
    /// Held while points are run.
    lock_of_folder: Option<FolderLock>,
}

impl StudyPlan {
    /// Begins a study, or continues it.
    pub(super) fn begin_study(
        file: &Path,
        out: &Path,
        points: Choice,
    ) -> Result<(Self, Sources), ExitCode> {
        let named = |error: &io::Error| {
            let file = file.display();
            status::refuse(format_args!("{file}: {error}: expected a study file"))
        };
        let text = files::read_text(file).map_err(|error| named(&error))?;
        let study = parse_study(&file.display().to_string(), &text)?;
        if study.optimisation.is_some() != (points == Choice::Search) {
            let file = file.display();
            return Err(status::refuse(match points {
                Choice::All => format!("{file}: it has [vary]: expected simrun optimise for it"),
                Choice::Search => {
                    format!("{file}: it has no [vary]: expected simrun study run for it")
                }
            }));
        }
        let program = package::executable(Path::new(&study.program), false, &[]);
        let program = program.map_err(|error| status::refuse(error.to_string()))?;
        let program_sha256 = simrun::sha256_of(program.files()).map_err(|error| named(&error))?;
        let mut sources = Sources::new(program_sha256);
        let mut points = sources.points(&study.points)?;
        let folder = fs::create_dir_all(out);
        folder.map_err(|error| status::refuse(format_args!("{}: {error}", out.display())))?;
        // Two processes would compute each point twice.
        let lock = FolderLock::exclusive(out).map_err(status::refuse)?;
        let folder = StudyFolder::create(out, &text).map_err(status::refuse)?;
        let mut keep = || -> Result<(), ResultError> {
            match study.optimisation {
                None => folder.write_points(&mut points)?,
                Some(_) => folder.forget_search()?,
            }
            keep_program(&folder, &program)?;
            sources.keep_sources(&folder)
        };
        keep().map_err(status::refuse)?;
        let plan = Self {
            study,
            folder,
            points,
            lock_of_folder: Some(lock),
        };
        Ok((plan, sources))
    }

    /// Adds points that were chosen, each different from all others, to the list in the folder.
    /// `known`: the list of an earlier start.
    pub(super) fn add_points(
        &mut self,
        chosen: Vec<(Point, KeyContent)>,
        known: &[PlannedPoint],
    ) -> Result<(), ExitCode> {
        for (point, content) in chosen {
            self.points.push(PlannedPoint {
                key: content.key(0),
                point: self.study.points.len(),
                parameters: point.parameters.clone(),
                content,
            });
            self.study.points.push(point);
        }
        let added = self.folder.add_points(&self.points, known);
        added.map_err(status::refuse)
    }

    /// Opens the folder of a study that has begun.
    pub(super) fn open(folder: &Path) -> Result<Self, ExitCode> {
        let (folder, text) = StudyFolder::open(folder).map_err(|error| {
            status::refuse(format_args!(
                "{error}: expected the folder of a study, made by simrun study run"
            ))
        })?;
        let mut study = parse_study(
            &folder.path().join("study.toml").display().to_string(),
            &text,
        )?;
        let points = folder.points().map_err(status::refuse)?;
        if let Some(optimisation) = &study.optimisation {
            let known = points
                .iter()
                .map(|it| optimisation.known_point(&it.parameters));
            let Some(known) = known.collect() else {
                let folder = folder.path().display();
                return Err(status::refuse(format_args!(
                    "{folder}/points.jsonl: a point lacks a parameter: expected those of study.toml"
                )));
            };
            study.points = known;
        }
        let mut positions: Vec<usize> = points.iter().map(|it| it.point).collect();
        positions.sort_unstable();
        if !positions.into_iter().eq(0..study.points.len()) {
            let (folder, count) = (folder.path().display(), study.points.len());
            return Err(status::refuse(format_args!(
                "{folder}/points.jsonl: expected the {count} points of study.toml, each once"
            )));
        }
        Ok(Self {
            study,
            folder,
            points,
            lock_of_folder: None,
        })
    }

    /// Locks the folder while points are run: for this process alone, or for workers that share
    /// the points.
    pub(super) fn lock_folder(&mut self, is_exclusive: bool) -> Result<(), ExitCode> {
        let lock = match is_exclusive {
            true => FolderLock::exclusive(self.folder.path()),
            false => FolderLock::shared(self.folder.path()),
        };
        self.lock_of_folder = Some(lock.map_err(status::refuse)?);
        Ok(())
    }

    /// Refuses a study of another revision of simrun.
    pub(super) fn check_revision(&self) -> Result<(), ExitCode> {
        let others = |point: &&PlannedPoint| point.content.revision != REVISION;
        match self.points.iter().find(others) {
            Some(point) => Err(status::refuse(format_args!(
                "{}: the study began with revision {} of simrun, and this is {REVISION}: expected the same revision",
                self.folder.path().display(),
                point.content.revision
            ))),
            None => Ok(()),
        }
    }

    /// Returns the share of one point.
    pub(super) fn share_of_point(&self, key: &str) -> Result<Share, ExitCode> {
        let position = self
            .points
            .iter()
            .position(|point| point.key.as_str() == key);
        let count = self.points.len();
        let share = position.map(|index| Share { index, count });
        share.ok_or_else(|| {
            status::refuse(format_args!(
                "--point {key}: the study has no such point: expected a key that simrun study points prints"
            ))
        })
    }

    /// Returns the point of the study file.
    pub(super) fn point(&self, planned: &PlannedPoint) -> &Point {
        &self.study.points[planned.point]
    }

    /// Returns the results of all points in the order of the study file.
    pub(super) fn results<'r>(&'r self, set: &'r ResultSet) -> Vec<PointResults<'r>> {
        let mut planned: Vec<&PlannedPoint> = self.points.iter().collect();
        planned.sort_by_key(|planned| planned.point);
        let results = planned.into_iter().map(|planned| {
            let key = |seed| planned.content.key(seed);
            PointResults::collect_results(self.point(planned), set, &self.study.replication, key)
        });
        results.collect()
    }

    /// Returns the program.
    pub(super) fn program(&self) -> Executable {
        let [file, libraries] = [PROGRAM, LIBRARIES].map(|name| self.folder.path().join(name));
        Executable::new(file, libraries.is_dir().then_some(libraries))
    }

    /// Returns the command line of a run. `analysis`: the folder of its analyses.
    pub(super) fn arguments(
        &self,
        planned: &PlannedPoint,
        seed: u64,
        analysis: Option<&Path>,
    ) -> Vec<String> {
        let content = &planned.content;
        let kept = |name: String| self.folder.path().join(name).display().to_string();
        let platform = kept(format!("platforms/{}.toml", content.platform_sha256));
        let mut words = vec!["--platform".to_owned(), platform];
        words.extend(content.options.iter().cloned());
        if let Some(map) = &content.map_sha256 {
            words.extend(["--map".to_owned(), kept(format!("maps/{map}.txt"))]);
        }
        words.extend([format!("--seed={seed}"), "--quiet".to_owned()]);
        words.push("--format=json".to_owned());
        let limits = self.study.limits;
        words.extend(limits.events.map(|events| format!("--max-events={events}")));
        words.extend(limits.time_s.map(|time| format!("--max-time={time}s")));
        words.extend(analysis.map(|folder| format!("--analyse={}", folder.display())));
        words.push("--".to_owned());
        words.extend(content.arguments.iter().cloned());
        words
    }
}

/// Keeps a program and its own libraries in the folder of a study.
fn keep_program(folder: &StudyFolder, program: &Executable) -> Result<(), ResultError> {
    let copied = |file: &Path, name: &str| {
        let content = files::read_bytes(file, PROGRAM_MAX)
            .map_err(|error| ResultError::at_path(file, &error))?;
        folder.keep_file(name, &content)
    };
    let copy = copied(program.file(), PROGRAM)?;
    // A folder without the right to execute has it again.
    let _ = fs::set_permissions(copy, fs::Permissions::from_mode(0o755));
    for library in program.files().iter().skip(1) {
        let name = library.file_name().unwrap_or_default().to_string_lossy();
        copied(library, &format!("{LIBRARIES}/{name}"))?;
    }
    Ok(())
}

fn parse_study(name: &str, text: &str) -> Result<Study, ExitCode> {
    Study::parse(name, text)
        .map_err(|error| status::refuse_with(&error.report(status::has_colours())))
}

/// Everything that the points of a study read, by its SHA-256.
pub(super) struct Sources {
    program_sha256: String,
    platforms: BTreeMap<String, String>,
    maps: BTreeMap<String, Vec<u8>>,
    /// SHA-256 and number of hosts of each platform with its changes, by both.
    loaded: BTreeMap<String, Option<(String, u32)>>,
    mistakes: usize,
}

impl Sources {
    const fn new(program_sha256: String) -> Self {
        Self {
            program_sha256,
            platforms: BTreeMap::new(),
            maps: BTreeMap::new(),
            loaded: BTreeMap::new(),
            mistakes: 0,
        }
    }

    /// Reads what all points need; mistakes are printed.
    fn points(&mut self, points: &[Point]) -> Result<Vec<PlannedPoint>, ExitCode> {
        let mut planned = Vec::new();
        for (position, point) in points.iter().enumerate() {
            if let Some(content) = self.point_content(point) {
                planned.push(PlannedPoint {
                    key: content.key(0),
                    point: position,
                    parameters: point.parameters.clone(),
                    content,
                });
            }
        }
        match self.mistakes {
            0 => return Ok(planned),
            1..=SHOWN => {}
            all => {
                let more = all - SHOWN;
                status::refuse(format_args!("{more} more points have mistakes"));
            }
        }
        Err(ExitCode::from(status::USAGE))
    }

    /// Returns the content of a point that was chosen.
    pub(super) fn chosen(&mut self, point: &Point) -> Result<KeyContent, ExitCode> {
        let content = self.point_content(point);
        content.ok_or_else(|| ExitCode::from(status::USAGE))
    }

    /// Writes the platforms and mappings that the folder does not have yet.
    pub(super) fn keep_sources(&self, folder: &StudyFolder) -> Result<(), ResultError> {
        for (sha256, text) in &self.platforms {
            folder.keep_file(&format!("platforms/{sha256}.toml"), text.as_bytes())?;
        }
        for (sha256, content) in &self.maps {
            folder.keep_file(&format!("maps/{sha256}.txt"), content)?;
        }
        Ok(())
    }

    fn mistake(&mut self, point: &Point, problem: impl std::fmt::Display) {
        self.mistakes += 1;
        if self.mistakes > SHOWN {
            return;
        }
        let values = point.parameters.shown();
        let place = if values.is_empty() {
            String::new()
        } else {
            format!("at the point {values}: ")
        };
        status::refuse(format_args!("{place}{problem}"));
    }

    fn point_content(&mut self, point: &Point) -> Option<KeyContent> {
        let options = match PointOptions::parse_options(&point.options) {
            Ok(options) => options,
            Err(problem) => {
                self.mistake(point, problem);
                return None;
            }
        };
        let (platform_sha256, hosts) = self.platform_digest(point)?;
        let map_sha256 = options.map_file.map(|content| {
            let hash = sha256(&content);
            self.maps.insert(hash.clone(), content);
            hash
        });
        let ranks = options
            .ranks
            .unwrap_or_else(|| options.mapping.default_ranks(hosts));
        Some(KeyContent {
            arguments: point.arguments.clone(),
            map_sha256,
            options: options.others,
            platform_sha256,
            program_sha256: self.program_sha256.clone(),
            ranks,
            revision: REVISION.to_owned(),
        })
    }

    /// Returns the SHA-256 and the number of hosts of the platform of a point; `None` after a
    /// mistake, which is printed once.
    fn platform_digest(&mut self, point: &Point) -> Option<(String, u32)> {
        let name = format!("{:?}", (&point.platform, &point.changes));
        if let Some(known) = self.loaded.get(&name) {
            return known.clone();
        }
        let found = match load_point_platform(point) {
            Ok(platform) => {
                status::warn_all(platform.notes());
                let text = platform.to_toml();
                let hash = sha256(text.as_bytes());
                self.platforms.insert(hash.clone(), text);
                Some((hash, platform.host_count()))
            }
            Err(problem) => {
                self.mistake(point, problem);
                None
            }
        };
        self.loaded.insert(name, found.clone());
        found
    }
}

/// Reads the platform of a point.
fn load_point_platform(point: &Point) -> Result<platform::Platform, String> {
    let mut changes = Vec::new();
    for change in &point.changes {
        let parsed: Result<Override, _> = change.parse();
        changes.push(parsed.map_err(|error| format!("[set] {change}: {error}"))?);
    }
    let found = run::load_platform(Path::new(&point.platform), &changes);
    found.map_err(|error: LoadError| {
        let report = error.report(false);
        let report = report.strip_prefix("error: ").unwrap_or(&report);
        report.trim_end().to_owned()
    })
}

/// The options of a point.
struct PointOptions {
    ranks: Option<u32>,
    mapping: Mapping,
    map_file: Option<Vec<u8>>,
    /// All but a mapping file.
    others: Vec<String>,
}

impl PointOptions {
    fn parse_options(options: &[String]) -> Result<Self, String> {
        let command = RunArgs::augment_args(clap::Command::new("options")).no_binary_name(true);
        let args = command
            .try_get_matches_from(options.iter().map(OsString::from))
            .and_then(|matches| RunArgs::from_arg_matches(&matches))
            .map_err(|error| {
                let text = error.to_string();
                let first = text.lines().next().unwrap_or_default();
                let problem = first.strip_prefix("error: ").unwrap_or(first);
                format!("options = {options:?}: {problem}")
            })?;
        let args = args.program.simulation;
        let mapping = mapping(&args.map).map_err(|error| format!("--map: {error}"))?;
        if !matches!(mapping, Mapping::File(_)) {
            return Ok(Self {
                ranks: args.ranks,
                mapping,
                map_file: None,
                others: options.to_vec(),
            });
        }
        let content = RankMap::read_text(&args.map).map_err(|error| error.to_string())?;
        let mut others = Vec::new();
        let mut words = options.iter();
        while let Some(word) = words.next() {
            if word == "--map" {
                words.next();
            } else if !word.starts_with("--map=") {
                others.push(word.clone());
            }
        }
        Ok(Self {
            ranks: args.ranks,
            mapping,
            map_file: Some(content.into_bytes()),
            others,
        })
    }
}

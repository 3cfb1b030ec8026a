//! The study file: what runs, at which points, how often, and what is measured.
//!
//! ```toml
//! program = "apps/pingpong"
//! platform = "platforms/cluster.toml"
//! options = ["--ranks", "{ranks}"]         # options of simrun
//! arguments = ["--sizes", "{size}"]        # arguments of the program
//! where = "ranks <= 512 or size < 64KiB"
//!
//! [grid]                                   # every combination
//! size = "1KiB..1MiB *2"
//! ranks = [2, 4, 8]
//!
//! [zip]                                    # lists of one length that go together
//! speed = ["100Gbps", "400Gbps"]
//! delay = ["1.3us", "1us"]
//!
//! [[points]]                               # combinations one by one
//! algorithm = "ring"
//!
//! [set]                                    # changes of the platform, as --set
//! "links.*.bandwidth" = "{speed}"
//! "links.*.latency" = "{delay}"
//! "collectives.allreduce" = "{algorithm}"
//!
//! [replicate]
//! seeds = 10                               # or precision, confidence, min and max
//!
//! [limits]                                 # of each run
//! time = "10s"                             # real time
//! memory = "2GiB"
//! events = 1000000
//!
//! [measure]
//! time = { json = "simulated_s", unit = "s" }
//! half = { line = '^ *\d+ B +([0-9.]+) us', unit = "us" }
//! waiting = { analysis = "efficiencies.communication" }
//! ```
//!
//! An optimisation has `[vary]` instead of `[grid]`, `[zip]` and `[[points]]`:
//!
//! ```toml
//! [vary]
//! size = "1KiB..1MiB *2"                   # one of these, or of a list
//! latency = "1us..10us log"                # everything between them
//!
//! [optimise]
//! minimise = "time"                        # or maximise
//! runs = 60                                # at most
//! start = 12                               # points that are spread before the search begins
//! seed = 1                                 # of the choice of points
//! ```
//!
//! The points are all combinations of `[grid]`, `[zip]` and `[[points]]` that satisfy `where`. All
//! mistakes of a file come at once, each with its line.
//!
//! *Not decided here*: the existence of program and platform, and of the paths of `[set]`. They are
//! checked when the platform of a point is loaded.

mod axes;
mod expansion;
mod measures;
mod plan;
mod section;
mod vary;

use std::ops::Range;
use std::str::FromStr;

use platform::{Diagnostics, LoadError, Override, Source};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::expression::Expression;
use crate::measure::Measure;
use crate::optimisation::Optimisation;
use crate::point::Point;
use crate::replication::Replication;
use crate::template::Template;
use axes::Axis;
use section::{DiagnosticList, Section, text};

/// Keys of the file.
const KEYS: &[&str] = &[
    "program",
    "platform",
    "options",
    "arguments",
    "where",
    "grid",
    "zip",
    "points",
    "vary",
    "optimise",
    "set",
    "replicate",
    "limits",
    "measure",
];

/// Options of simrun that a study sets itself, each with the key that sets the option.
const OWN_OPTIONS: [(&str, &str); 19] = [
    ("--platform", "the key platform"),
    ("--set", "the table [set]"),
    ("--seed", "the table [replicate]"),
    ("--max-events", "the key events of [limits]"),
    ("--out", "the folder of the study"),
    ("-o", "the folder of the study"),
    ("--force", "the folder of the study"),
    ("--format", "the table [measure]"),
    ("--analyse", "the table [measure]"),
    ("--quiet", "nothing: runs print nothing"),
    ("-q", "nothing: runs print nothing"),
    ("--verbose", "nothing: runs print nothing"),
    ("-v", "nothing: runs print nothing"),
    ("--progress", "nothing: runs print nothing"),
    ("--profile", "nothing: runs print nothing"),
    (
        "--trace",
        "one run alone, not one of a study: its file would be written by each run",
    ),
    (
        "--log-events",
        "one run alone, not one of a study: its file would be written by each run",
    ),
    (
        "--schedule",
        "one run alone, not one of a study: its file would be written by each run",
    ),
    (
        "--pcap",
        "one run alone, not one of a study: its file would be written by each run",
    ),
];

/// A study: a checked and expanded study file.
#[derive(Clone, Debug)]
pub struct Study {
    /// The program, as passed to `simrun run`.
    pub program: String,
    /// Names of the parameters, in the order of the file.
    pub parameters: Vec<String>,
    /// All points, in the order of the file.
    pub points: Vec<Point>,
    /// Number of replications of each point.
    pub replication: Replication,
    /// Limits of each run.
    pub limits: RunLimits,
    /// Values taken from each run, in the order of the file.
    pub measures: Vec<Measure>,
    /// The choice of points, if they are chosen one after another. There are none at first.
    pub optimisation: Option<Optimisation>,
}

/// Limits of one run; none where `None`.
#[derive(Clone, Copy, PartialEq, Default, Debug)]
pub struct RunLimits {
    /// Real time in seconds.
    pub time_s: Option<f64>,
    /// Memory of the process in bytes.
    pub memory: Option<u64>,
    /// Events of the simulation.
    pub events: Option<u64>,
}

/// Texts with placeholders, each with the place in the file.
#[derive(Clone, Default, Debug)]
pub(crate) struct Templates {
    platform: Option<(Template, Range<usize>)>,
    options: Vec<(Template, Range<usize>)>,
    arguments: Vec<(Template, Range<usize>)>,
    /// Paths in the platform and their values.
    changes: Vec<(String, Template, Range<usize>)>,
}

impl Study {
    /// Reads the study file with the name `name` and the content `text`.
    pub fn parse(name: &str, text: &str) -> Result<Self, LoadError> {
        let mut mistakes = DiagnosticList::default();
        let (root, errors) = DeTable::parse_recoverable(text);
        for error in errors {
            let place = error.span().unwrap_or_default();
            mistakes.add(place, error.message().to_owned(), "TOML");
        }
        // What follows a mistake of syntax is guesswork.
        if mistakes.is_empty() {
            let study = Self::read_study(&root, &mut mistakes);
            if let Some(study) = study.filter(|_| mistakes.is_empty()) {
                return Ok(study);
            }
        }
        let source = Source::new(name, text);
        Err(LoadError::Diagnostics(Diagnostics::new(
            source,
            mistakes.list,
        )))
    }

    /// Returns the names of the columns of the measures, in the order of the file.
    pub fn columns(&self) -> Vec<String> {
        self.measures.iter().map(Measure::column).collect()
    }

    /// Reads everything; mistakes are added. `None` only with mistakes.
    fn read_study(root: &Spanned<DeTable<'_>>, mistakes: &mut DiagnosticList) -> Option<Self> {
        let file = Section::new("the file", root.get_ref(), 0..0);
        file.check_keys(KEYS, mistakes);
        let program = file.required("program", "a text, such as \"apps/ring\"", mistakes);
        let program = program.and_then(|value| text(value, "program", mistakes));
        let templates = Templates::read_templates(&file, mistakes);
        let varied = vary::variables(&file, mistakes);
        let (variables, axes) = match varied {
            Some((variables, axes)) => (Some(variables), axes),
            None => (None, axes::read_axes(&file, mistakes)),
        };
        let condition = condition(&file, &axes, mistakes);
        templates.check_names(&axes, condition.as_ref().map(|it| &it.0), mistakes);
        let replication = plan::replication(&file, mistakes);
        let limits = plan::limits(&file, mistakes);
        let measures = measures::read_measures(&file, &axes, mistakes);
        let count = variables.as_ref().map_or(0, Vec::len);
        let settings = vary::read_settings(&file, &measures, count, mistakes);
        if !mistakes.is_empty() {
            return None;
        }
        let names = axes.iter().flat_map(Axis::parameter_names);
        let parameters = names.map(str::to_owned).collect();
        let (points, optimisation) = match variables.zip(settings) {
            None => {
                let points = expansion::points(&axes, condition.as_ref(), &templates, mistakes);
                (points?, None)
            }
            Some((variables, settings)) => {
                let optimisation = Optimisation {
                    variables,
                    column: settings.column,
                    maximises: settings.maximises,
                    runs: settings.runs,
                    start: settings.start,
                    seed: settings.seed,
                    condition: condition.map(|(expression, _)| expression),
                    templates,
                };
                (Vec::new(), Some(optimisation))
            }
        };
        Some(Self {
            program: program?.to_owned(),
            parameters,
            points,
            replication,
            limits,
            measures,
            optimisation,
        })
    }
}

/// Reads `where`, and checks the names in the condition.
fn condition(
    file: &Section<'_>,
    axes: &[Axis],
    mistakes: &mut DiagnosticList,
) -> Option<(Expression, Range<usize>)> {
    let value = file.get("where")?;
    let condition = text(value, "where", mistakes)?;
    match Expression::new(condition) {
        Ok(expression) => {
            for name in expression.parameter_names() {
                check_name(name, axes, value.span(), mistakes);
            }
            Some((expression, value.span()))
        }
        Err(problem) => {
            mistakes.add(
                value.span(),
                problem,
                "a condition, such as \"ranks <= 512\"",
            );
            None
        }
    }
}

/// Checks that a parameter exists.
fn check_name(name: &str, axes: &[Axis], place: Range<usize>, mistakes: &mut DiagnosticList) {
    let known: Vec<&str> = axes.iter().flat_map(Axis::parameter_names).collect();
    if known.contains(&name) {
        return;
    }
    let expected = if known.is_empty() {
        "a parameter of [grid], [zip] or [[points]]; there is none".to_owned()
    } else {
        format!("one of the parameters {}", known.join(", "))
    };
    mistakes.add(place, format!("there is no parameter {name:?}"), &expected);
}

impl Templates {
    fn read_templates(file: &Section<'_>, mistakes: &mut DiagnosticList) -> Self {
        let platform = file
            .required(
                "platform",
                "a path, such as \"platforms/cluster.toml\"",
                mistakes,
            )
            .and_then(|value| template(value, "platform", mistakes));
        let options = read_list(file, "options", mistakes);
        check_own_options(&options, mistakes);
        Self {
            platform,
            options,
            arguments: read_list(file, "arguments", mistakes),
            changes: changes(file, mistakes),
        }
    }

    fn all_templates(&self) -> impl Iterator<Item = (&Template, &Range<usize>)> {
        let lists = self
            .platform
            .iter()
            .chain(&self.options)
            .chain(&self.arguments);
        let changes = self
            .changes
            .iter()
            .map(|(_, template, place)| (template, place));
        lists
            .map(|(template, place)| (template, place))
            .chain(changes)
    }

    /// Checks that each placeholder has a parameter, and each parameter a use.
    fn check_names(
        &self,
        axes: &[Axis],
        condition: Option<&Expression>,
        mistakes: &mut DiagnosticList,
    ) {
        for (template, place) in self.all_templates() {
            for name in template.placeholder_names() {
                check_name(name, axes, place.clone(), mistakes);
            }
        }
        let in_condition = condition
            .map(Expression::parameter_names)
            .unwrap_or_default();
        let used = |name: &str| {
            let mut placeholders = self
                .all_templates()
                .flat_map(|(template, _)| template.placeholder_names());
            placeholders.any(|it| it == name) || in_condition.contains(&name)
        };
        for (name, place) in axes.iter().flat_map(|axis| &axis.names) {
            if !used(name) {
                let expected = format!("a placeholder {{{name}}} in arguments, options or [set]");
                mistakes.add(
                    place.clone(),
                    format!("parameter {name:?} has no use"),
                    &expected,
                );
            }
        }
    }
}

fn check_own_options(options: &[(Template, Range<usize>)], mistakes: &mut DiagnosticList) {
    for (option, place) in options {
        let shown = option.filled(&crate::point::Assignment::default());
        let name = shown.split('=').next().unwrap_or_default();
        if let Some((_, key)) = OWN_OPTIONS.iter().find(|(own, _)| *own == name) {
            let problem = format!("option {name} is set by the study");
            mistakes.add(place.clone(), problem, key);
        }
    }
}

fn read_list(
    file: &Section<'_>,
    key: &str,
    mistakes: &mut DiagnosticList,
) -> Vec<(Template, Range<usize>)> {
    let Some(value) = file.get(key) else {
        return Vec::new();
    };
    let Some(array) = value.get_ref().as_array() else {
        let expected = "a list of texts, such as [\"--size\", \"{size}\"]";
        mistakes.add(value.span(), format!("{key} is no list"), expected);
        return Vec::new();
    };
    let texts = array.iter().filter_map(|it| template(it, key, mistakes));
    texts.collect()
}

fn changes(
    file: &Section<'_>,
    mistakes: &mut DiagnosticList,
) -> Vec<(String, Template, Range<usize>)> {
    let Some(section) = file.section("set", mistakes) else {
        return Vec::new();
    };
    let mut changes = Vec::new();
    for (key, value) in section.table {
        let path = key.get_ref().to_string();
        let value = match value.get_ref() {
            DeValue::Table(_) => {
                let expected =
                    format!("the whole path in double quotes, such as \"{path}.latency\"");
                mistakes.add(key.span(), format!("path {path:?} has a table"), &expected);
                continue;
            }
            _ => template(value, &path, mistakes),
        };
        // The value is checked when it is known.
        if let Err(error) = Override::from_str(&format!("{path}=1")) {
            mistakes.add(key.span(), error.to_string(), "a path of the platform file");
        } else if let Some((template, place)) = value {
            changes.push((path, template, place));
        }
    }
    changes
}

/// Reads a text with placeholders, or a number as text.
fn template(
    value: &Spanned<DeValue<'_>>,
    key: &str,
    mistakes: &mut DiagnosticList,
) -> Option<(Template, Range<usize>)> {
    let text = axes::read_value(value, key, mistakes)?.to_string();
    match Template::new(&text) {
        Ok(template) => Some((template, value.span())),
        Err(problem) => {
            mistakes.add(
                value.span(),
                problem,
                "placeholders such as {size}; {{ is one brace",
            );
            None
        }
    }
}

#[cfg(test)]
mod tests;

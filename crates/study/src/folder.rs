//! The folder of a study: study file, results and failures.
//!
//! * `study.toml`: the study file as it was read. A folder belongs to one study: another file is
//!   refused once a run has succeeded, so that tables never mix two studies.
//! * `points.jsonl`: the points, ordered by key, one line each. Worker I of N takes the lines with
//!   numbers I modulo N: the order of hashes mixes long and short runs.
//! * `program`, `platforms/SHA256.toml`, `maps/SHA256.txt`: all inputs of the runs. A study
//!   continues with these copies, also when the originals have changed or are on another machine.
//! * `results/WORKER.jsonl`: results.
//! * `failures/KEY.txt`: the standard error of a run that did not succeed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::key::{Key, KeyContent};
use crate::point::Assignment;
use crate::results::{RESULTS_FOLDER, ResultError, ResultLine, ResultSet};

/// The name of the study file within the folder.
const STUDY_FILE: &str = "study.toml";

/// The name of the list of points.
const POINTS_FILE: &str = "points.jsonl";

/// The folder of failures.
const FAILURES_FOLDER: &str = "failures";

/// Everything in the folder that belongs to points.
const STATE: [&str; 8] = [
    POINTS_FILE,
    FAILURES_FOLDER,
    RESULTS_FOLDER,
    "claims",
    "libraries",
    "maps",
    "platforms",
    "program",
];

/// A point of a study with all inputs that decide the results.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct PlannedPoint {
    /// The key of the first run of the point.
    pub key: Key,
    /// The position of the point in the order of the study file, from 0.
    pub point: usize,
    /// Values of the parameters.
    pub parameters: Assignment,
    /// All inputs that decide the results of the point.
    pub content: KeyContent,
}

/// The folder of a study.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StudyFolder {
    path: PathBuf,
}

impl StudyFolder {
    /// Creates the folder of a study file with this text, or continues the folder. The folder of
    /// another study is taken over if no run has succeeded there.
    pub fn create(path: &Path, text: &str) -> Result<Self, ResultError> {
        let error = |error: &io::Error| ResultError::at_path(path, error);
        fs::create_dir_all(path).map_err(|it| error(&it))?;
        let file = path.join(STUDY_FILE);
        match files::read_state(&file) {
            Ok(found) if found == text => {}
            Ok(_) if !has_results(path)? => {
                forget_points(path)?;
                files::write(&file, text)?;
            }
            Ok(_) => {
                let problem = "it is the folder of another study: expected the same study.toml, or a \
                               new folder";
                return Err(ResultError::at_path(path, problem));
            }
            Err(found) if found.kind() == io::ErrorKind::NotFound => {
                let entries = fs::read_dir(path).map_err(|it| error(&it))?;
                let mut names = entries.flatten().map(|entry| entry.file_name());
                if names.any(|name| name != files::LOCK_FILE) {
                    let problem = "it has files, but no study.toml: expected the folder of a study, or \
                                   a new one";
                    return Err(ResultError::at_path(path, problem));
                }
                files::write(&file, text)?;
            }
            Err(found) => return Err(ResultError::at_path(&file, &found)),
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Opens the folder of a study; returns the folder and the text of the study file.
    pub fn open(path: &Path) -> Result<(Self, String), ResultError> {
        let file = path.join(STUDY_FILE);
        let text = files::read_state(&file).map_err(|it| ResultError::at_path(&file, &it))?;
        let folder = Self {
            path: path.to_owned(),
        };
        Ok((folder, text))
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the points of a search of which no run has succeeded: the choice begins anew.
    pub fn forget_search(&self) -> Result<(), ResultError> {
        match has_results(&self.path)? {
            true => Ok(()),
            false => forget_points(&self.path),
        }
    }

    /// Orders points by the keys of their first runs, and writes the list of points. An existing
    /// list must be equal, or is replaced if no run has succeeded.
    ///
    /// # Panics
    /// Never: points are expressible in JSON.
    pub fn write_points(&self, points: &mut [PlannedPoint]) -> Result<(), ResultError> {
        points.sort_by(|one, other| one.key.cmp(&other.key));
        let file = self.path.join(POINTS_FILE);
        if file.exists() {
            let known = self.points()?;
            let differences = points.iter().find_map(|point| {
                let same = known.iter().find(|known| known.point == point.point);
                let reason = |known: &PlannedPoint| known.content.first_difference(&point.content);
                same.map_or(Some("other points".to_owned()), reason)
            });
            match differences {
                None => return Ok(()),
                Some(_) if !has_results(&self.path)? => forget_points(&self.path)?,
                Some(reason) => return Err(ResultError::at_path(&file, began_with(&reason))),
            }
        }
        Ok(files::write(&file, point_lines(points))?)
    }

    /// Writes the list of points that were chosen so far. An earlier start has chosen the same
    /// points, in the same order: that list is `known`, and stays while it is longer.
    ///
    /// # Panics
    /// Never: points are expressible in JSON.
    pub fn add_points(
        &self,
        points: &[PlannedPoint],
        known: &[PlannedPoint],
    ) -> Result<(), ResultError> {
        let file = self.path.join(POINTS_FILE);
        let mut pairs = points.iter().zip(known);
        let difference =
            pairs.find_map(|(point, known)| known.content.first_difference(&point.content));
        if let Some(reason) = difference {
            return Err(ResultError::at_path(&file, began_with(&reason)));
        }
        if points.len() > known.len() {
            files::write(&file, point_lines(points))?;
        }
        Ok(())
    }

    /// Reads the list of points, in the order of the list: by keys, or by choice.
    pub fn points(&self) -> Result<Vec<PlannedPoint>, ResultError> {
        let file = self.path.join(POINTS_FILE);
        let text = files::read_state(&file).map_err(|it| ResultError::at_path(&file, &it))?;
        let read = |(number, line): (usize, &str)| {
            let wrong = |problem: &dyn std::fmt::Display| {
                let problem = format!("line {}: no point of a study: {problem}", number + 1);
                ResultError::at_path(&file, problem)
            };
            let point: PlannedPoint = serde_json::from_str(line).map_err(|error| wrong(&error))?;
            // The key is the name of files, too.
            if point.key != point.content.key(0) {
                return Err(wrong(&"the key is not that of the content"));
            }
            Ok(point)
        };
        text.lines().enumerate().map(read).collect()
    }

    /// Writes a file of the study below `name`, unless the file exists.
    pub fn keep_file(&self, name: &str, content: &[u8]) -> Result<PathBuf, ResultError> {
        let file = self.path.join(name);
        if !file.exists() {
            let folder = file.parent().unwrap_or(&self.path);
            fs::create_dir_all(folder).map_err(|it| ResultError::at_path(folder, &it))?;
            files::write(&file, content)?;
        }
        Ok(file)
    }

    /// Keeps the standard error of a run that did not succeed, and returns the path of the file.
    pub fn keep_failure(&self, key: &Key, text: &[u8]) -> Result<PathBuf, ResultError> {
        let folder = self.path.join(FAILURES_FOLDER);
        let file = folder.join(format!("{key}.txt"));
        fs::create_dir_all(&folder).map_err(|it| ResultError::at_path(&folder, &it))?;
        files::write(&file, text)?;
        Ok(file)
    }
}

/// Returns true if a run in the folder of a study has succeeded.
fn has_results(path: &Path) -> Result<bool, ResultError> {
    let results = ResultSet::read(path)?;
    Ok(results.iter().any(ResultLine::succeeded))
}

/// Removes the points in the folder of a study, their failures, and everything that they read.
fn forget_points(path: &Path) -> Result<(), ResultError> {
    for name in STATE {
        let state = path.join(name);
        let removed = match state.is_dir() {
            true => fs::remove_dir_all(&state),
            false => fs::remove_file(&state),
        };
        match removed {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(ResultError::at_path(&state, &error));
            }
            _ => {}
        }
    }
    Ok(())
}

fn began_with(reason: &str) -> String {
    format!("the study began with {reason}: expected the same, or a new folder")
}

fn point_lines(points: &[PlannedPoint]) -> Vec<u8> {
    let mut lines = Vec::new();
    for point in points {
        serde_json::to_writer(&mut lines, &point).expect("texts and numbers are JSON");
        lines.push(b'\n');
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::results::ResultWriter;
    use crate::testing::{TestFolder, content, result};

    #[test]
    fn a_folder_belongs_to_one_study() {
        let test = TestFolder::new("folder");
        let path = test.path().join("study");
        let folder = StudyFolder::create(&path, "a").expect("a folder");
        assert_eq!(StudyFolder::create(&path, "a"), Ok(folder.clone()));
        assert_eq!(StudyFolder::open(&path), Ok((folder, "a".to_owned())));
        add_result(&path, &result(0, 1.0, "d"));
        let other = StudyFolder::create(&path, "b")
            .expect_err("refused")
            .to_string();
        assert!(
            other.contains("it is the folder of another study"),
            "{other}"
        );
        fs::remove_file(path.join(STUDY_FILE)).expect("removed");
        fs::write(path.join("x"), "").expect("written");
        let foreign = StudyFolder::create(&path, "a")
            .expect_err("refused")
            .to_string();
        assert!(
            foreign.contains("it has files, but no study.toml"),
            "{foreign}"
        );
    }

    fn add_result(study: &Path, result: &ResultLine) {
        let mut writer = ResultWriter::open(study, "worker").expect("a folder");
        writer.append(result).expect("written");
    }

    #[test]
    fn a_folder_without_a_successful_run_is_taken_over() {
        let test = TestFolder::new("taken");
        let path = test.path().join("study");
        let folder = StudyFolder::create(&path, "a").expect("a folder");
        let planned = |ranks: u8| {
            let ranks = u32::from(ranks);
            let content = KeyContent { ranks, ..content() };
            PlannedPoint {
                key: content.key(0),
                point: 0,
                parameters: Assignment::default(),
                content,
            }
        };
        let failed = ResultLine {
            outcome: "failed".to_owned(),
            ..result(0, 1.0, "d")
        };
        let begin = |ranks| {
            folder.write_points(&mut [planned(ranks)]).expect("written");
            folder.keep_file("program", &[ranks]).expect("kept");
            add_result(&path, &failed);
            assert_eq!(folder.points(), Ok(vec![planned(ranks)]));
            let program = fs::read(path.join("program")).expect("kept");
            assert_eq!(program, [ranks]);
        };
        begin(2);
        fs::write(path.join("notes.txt"), "mine").expect("written");
        // Another program, another study, another search.
        begin(3);
        assert_eq!(StudyFolder::create(&path, "b"), Ok(folder.clone()));
        begin(4);
        assert_eq!(
            StudyFolder::open(&path),
            Ok((folder.clone(), "b".to_owned()))
        );
        folder.forget_search().expect("forgotten");
        assert!(!path.join("points.jsonl").exists() && !path.join("results").exists());
        assert!(path.join("notes.txt").exists());
        begin(5);
        add_result(&path, &result(1, 1.0, "d"));
        folder.forget_search().expect("a search with results stays");
        assert_eq!(folder.points(), Ok(vec![planned(5)]));
    }

    #[test]
    fn points_are_ordered_by_key() {
        let test = TestFolder::new("points");
        let folder = StudyFolder::create(&test.path().join("study"), "a").expect("a folder");
        let mut points: Vec<PlannedPoint> = (2..11)
            .map(|ranks| {
                let content = KeyContent { ranks, ..content() };
                PlannedPoint {
                    key: content.key(0),
                    point: ranks as usize,
                    parameters: Assignment::default(),
                    content,
                }
            })
            .collect();
        folder.write_points(&mut points).expect("written");
        assert!(points.is_sorted_by(|one, other| one.key < other.key));
        assert_eq!(folder.points(), Ok(points.clone()));

        add_result(folder.path(), &result(0, 1.0, "d"));
        points.reverse();
        folder.write_points(&mut points).expect("the same list");
        points[3].content.revision = "s".to_owned();
        let other = folder.write_points(&mut points).expect_err("refused");
        let expected = "points.jsonl: the study began with revision r of simrun, and this is s: \
                        expected the same, or a new folder";
        assert!(other.to_string().ends_with(expected), "{other}");
    }

    #[test]
    fn chosen_points_are_those_of_an_earlier_start() {
        let test = TestFolder::new("chosen");
        let folder = StudyFolder::create(&test.path().join("study"), "a").expect("a folder");
        let of = |ranks: u32| {
            let content = KeyContent { ranks, ..content() };
            let key = content.key(0);
            PlannedPoint {
                key,
                point: 0,
                parameters: Assignment::default(),
                content,
            }
        };
        let points = [of(3), of(2)];
        folder.add_points(&points[..1], &[]).expect("written");
        folder.add_points(&points, &points[..1]).expect("written");
        // In the order of their choice, and not shorter than before.
        assert_eq!(folder.points(), Ok(points.to_vec()));
        folder.add_points(&points[..1], &points).expect("the same");
        assert_eq!(folder.points(), Ok(points.to_vec()));
        let other = folder.add_points(&[of(4)], &points).expect_err("refused");
        let expected = "points.jsonl: the study began with other options or mapping files: expected the \
                        same, or a new folder";
        assert!(other.to_string().ends_with(expected), "{other}");
    }

    #[test]
    fn failures_have_the_name_of_their_key() {
        let test = TestFolder::new("failures");
        let folder = StudyFolder::create(&test.path().join("study"), "a").expect("a folder");
        let key = result(0, 1.0, "d").key;
        let file = folder.keep_failure(&key, b"no").expect("written");
        assert!(file.ends_with(format!("failures/{key}.txt")));
        assert_eq!(fs::read(file).expect("a file"), b"no");
    }
}

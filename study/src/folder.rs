//! The folder of a study: its file, results and failures.
//!
//! * `study.toml`: the study file as it was read. A folder belongs to one study: another file is
//!   refused, so that tables never mix two studies.
//! * `points.jsonl`: the points, ordered by key, one line each. Worker I of N takes the lines whose
//!   number is I modulo N: the order of hashes mixes long and short runs.
//! * `results/WORKER.jsonl`: results.
//! * `failures/KEY.txt`: the standard error of a run that did not succeed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::key::Key;
use crate::point::Point;
use crate::results::ResultError;

/// The name of the study file within the folder.
const STUDY_FILE: &str = "study.toml";

/// The name of the list of points.
const POINTS_FILE: &str = "points.jsonl";

/// The folder of failures.
const FAILURES_FOLDER: &str = "failures";

/// A line of the list of points.
#[derive(Serialize)]
struct PointLine<'p> {
    key: &'p Key,
    #[serde(flatten)]
    point: &'p Point,
}

/// The folder of a study.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct StudyFolder {
    path: PathBuf,
}

impl StudyFolder {
    /// Makes the folder of a study file with this text, or continues it.
    ///
    /// # Errors
    /// [`ResultError`] if the folder has another study or other files, or cannot be written.
    pub fn create(path: &Path, text: &str) -> Result<Self, ResultError> {
        let error = |error: &io::Error| ResultError::at(path, error);
        fs::create_dir_all(path).map_err(|it| error(&it))?;
        let file = path.join(STUDY_FILE);
        match fs::read_to_string(&file) {
            Ok(found) if found == text => {}
            Ok(_) => {
                let problem = "it is the folder of another study: expected the same study.toml, or a \
                               new folder";
                return Err(ResultError::at(path, problem));
            }
            Err(found) if found.kind() == io::ErrorKind::NotFound => {
                let mut entries = fs::read_dir(path).map_err(|it| error(&it))?;
                if entries.next().is_some() {
                    let problem = "it has files, but no study.toml: expected the folder of a study, or \
                                   a new one";
                    return Err(ResultError::at(path, problem));
                }
                files::write(&file, text)?;
            }
            Err(found) => return Err(ResultError::at(&file, &found)),
        }
        Ok(Self {
            path: path.to_owned(),
        })
    }

    /// Opens the folder of a study; returns it with the text of the study file.
    ///
    /// # Errors
    /// [`ResultError`] if it has no study file.
    pub fn open(path: &Path) -> Result<(Self, String), ResultError> {
        let file = path.join(STUDY_FILE);
        let text = fs::read_to_string(&file).map_err(|it| ResultError::at(&file, &it))?;
        let folder = Self {
            path: path.to_owned(),
        };
        Ok((folder, text))
    }

    /// Returns its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Orders points by the keys of their first runs, and writes the list of points, or compares it
    /// with the one that is there: a worker with another revision is refused.
    ///
    /// # Errors
    /// [`ResultError`] with the path, also if the list differs.
    ///
    /// # Panics
    /// Never: points are expressible in JSON.
    pub fn write_points(&self, points: &mut [(Key, &Point)]) -> Result<(), ResultError> {
        points.sort_by(|(one, _), (other, _)| one.cmp(other));
        let mut lines = Vec::new();
        for (key, point) in points {
            let line = PointLine { key, point };
            serde_json::to_writer(&mut lines, &line).expect("texts and numbers are JSON");
            lines.push(b'\n');
        }
        let file = self.path.join(POINTS_FILE);
        match fs::read(&file) {
            Ok(found) if found == lines => Ok(()),
            Ok(_) => {
                let problem = "its points have other keys: expected the revision of simrun, the \
                               program and the platform files with which the study began";
                Err(ResultError::at(&file, problem))
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                Ok(files::write(&file, lines)?)
            }
            Err(error) => Err(ResultError::at(&file, &error)),
        }
    }

    /// Keeps the standard error of a run that did not succeed, and returns the path of the file.
    ///
    /// # Errors
    /// [`ResultError`] with the path.
    pub fn keep_failure(&self, key: &Key, text: &[u8]) -> Result<PathBuf, ResultError> {
        let folder = self.path.join(FAILURES_FOLDER);
        let file = folder.join(format!("{key}.txt"));
        fs::create_dir_all(&folder).map_err(|it| ResultError::at(&folder, &it))?;
        files::write(&file, text)?;
        Ok(file)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::file::Study;
    use crate::testing::{TestFolder, result};

    #[test]
    fn a_folder_belongs_to_one_study() {
        let test = TestFolder::new("folder");
        let path = test.path().join("study");
        let folder = StudyFolder::create(&path, "a").expect("a folder");
        assert_eq!(StudyFolder::create(&path, "a"), Ok(folder.clone()));
        assert_eq!(StudyFolder::open(&path), Ok((folder, "a".to_owned())));
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

    #[test]
    fn points_are_ordered_by_key() {
        let test = TestFolder::new("points");
        let folder = StudyFolder::create(&test.path().join("study"), "a").expect("a folder");
        let text = "program = 'a'\nplatform = 'p'\narguments = ['{x}']\n[grid]\nx = '1..9 +1'";
        let study = Study::parse("S", text).expect("a study");
        let keys = (0..9).map(|seed| result(seed, 1.0, "d").key);
        let mut points: Vec<(Key, &Point)> = keys.zip(&study.points).collect();
        folder.write_points(&mut points).expect("written");
        assert!(points.is_sorted_by(|(one, _), (other, _)| one < other));
        let written = fs::read_to_string(folder.path().join(POINTS_FILE)).expect("a file");
        let (key, point) = &points[0];
        let arguments = &point.arguments[0];
        let start = format!("{{\"key\":\"{key}\",\"parameters\":{{\"x\":{arguments}}},");
        assert!(written.starts_with(&start), "{written}");
        assert_eq!(written.lines().count(), 9);

        points.reverse();
        folder.write_points(&mut points).expect("the same list");
        points[0].0 = result(99, 1.0, "d").key;
        let other = folder
            .write_points(&mut points)
            .expect_err("refused")
            .to_string();
        assert!(
            other.contains("points.jsonl: its points have other keys"),
            "{other}"
        );
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

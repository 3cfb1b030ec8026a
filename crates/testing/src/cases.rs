//! Cases of a table-driven test that are kept as text beside the test: an input, and the expected
//! text.
//!
//! ```text
//! # A line that begins with # is a comment.
//! speed = "16Gf" ⇒ speed = "fast"
//!   p.toml:3:9: the expected text, in lines that begin with two blanks
//! ```
//!
//! `\n` in an input is the end of a line. An expected line that ends with `…` stands for all lines
//! that begin so.

/// A case: the parts of the input, which arrows separate, and the expected lines.
#[derive(Clone, Debug)]
pub struct DataCase {
    /// The line of the case in the file.
    pub line: usize,
    pub given: Vec<String>,
    pub expected: String,
}

/// Reads the cases of a file.
///
/// # Panics
/// If expected lines come before a case, or there are no cases.
pub fn read_cases(text: &str) -> Vec<DataCase> {
    let mut cases: Vec<DataCase> = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        if let Some(expected) = text.strip_prefix("  ") {
            let case = cases.last_mut().expect("a case before expected lines");
            if !case.expected.is_empty() {
                case.expected.push('\n');
            }
            case.expected.push_str(expected);
        } else if !text.is_empty() && !text.starts_with('#') {
            let given = text.split('⇒').map(|part| part.trim().replace("\\n", "\n"));
            cases.push(DataCase {
                line,
                given: given.collect(),
                expected: String::new(),
            });
        }
    }
    assert!(!cases.is_empty(), "no cases");
    cases
}

impl DataCase {
    /// Returns the parts of the input.
    ///
    /// # Panics
    /// If the number of parts is another one.
    pub fn given_parts<const PARTS: usize>(&self) -> [&str; PARTS] {
        let given: Vec<&str> = self.given.iter().map(String::as_str).collect();
        let parts = given.try_into();
        parts.unwrap_or_else(|given| panic!("line {}: {PARTS} parts: {given:?}", self.line))
    }

    /// Asserts that a text is the expected one; `file` is the name of the file of the cases.
    ///
    /// # Panics
    /// If the texts differ.
    #[track_caller]
    pub fn assert_expected(&self, file: &str, found: &str) {
        let is_expected = |(found, expected): (&str, &str)| match expected.strip_suffix('…') {
            Some(start) => found.starts_with(start),
            None => found == expected,
        };
        let mut pairs = found.lines().zip(self.expected.lines());
        let same_length = found.lines().count() == self.expected.lines().count();
        assert!(
            same_length && pairs.all(is_expected),
            "{file}:{}: {:?}\nfound:\n{found}\nexpected:\n{}",
            self.line,
            self.given,
            self.expected
        );
    }
}

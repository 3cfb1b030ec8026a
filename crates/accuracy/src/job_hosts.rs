//! The hosts of the jobs of a table of measurements: a table with the columns
//! `machine,timestamp,test,ranks,hosts_in_order_of_ranks`, the names separated by spaces.
//!
//! *Not decided here*: the distance of two hosts, which is the distance of the hosts with these
//! names on a platform.

use std::collections::BTreeMap;

/// Lists of host names, separated by commas in the order of ranks, by job and number of ranks.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct JobHosts(BTreeMap<(String, usize), String>);

impl JobHosts {
    /// Reads the table.
    ///
    /// # Errors
    /// The first line that is no row, and the mistake.
    pub fn read_table(text: &str) -> Result<Self, String> {
        const HEADER: &str = "machine,timestamp,test,ranks,hosts_in_order_of_ranks";
        let mut lines = (1..).zip(text.lines());
        if lines.next().map(|(_, line)| line) != Some(HEADER) {
            return Err(format!("line 1: expected {HEADER}"));
        }
        let mut hosts = BTreeMap::new();
        for (number, line) in lines {
            let fields: Vec<&str> = line.split(',').collect();
            let [_, job, _, ranks, names] = fields[..] else {
                let found = fields.len();
                return Err(format!("line {number}: {found} fields: expected 5"));
            };
            let names: Vec<&str> = names.split_whitespace().collect();
            if ranks.parse() != Ok(names.len()) {
                let found = names.len();
                return Err(format!("line {number}: {found} hosts of {ranks} ranks"));
            }
            hosts.insert((job.to_owned(), names.len()), names.join(","));
        }
        Ok(Self(hosts))
    }

    /// Returns the hosts of a job with this number of ranks, if the table has them.
    pub fn find_job(&self, job: &str, ranks: u32) -> Option<&str> {
        let key = (job.to_owned(), ranks as usize);
        self.0.get(&key).map(String::as_str)
    }

    /// Returns the numbers of ranks of the runs of a job; none if the table has no such job.
    pub fn rank_counts(&self, job: &str) -> Vec<usize> {
        let runs = self
            .0
            .range((job.to_owned(), 0)..=(job.to_owned(), usize::MAX));
        runs.map(|((_, ranks), _)| *ranks).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_are_found_by_their_number_of_ranks() {
        let header = "machine,timestamp,test,ranks,hosts_in_order_of_ranks\n";
        let read = |rows: &str| JobHosts::read_table(&format!("{header}{rows}"));
        let hosts = read("m,j,,2,b a\nm,j,,1,c\n").unwrap_or_default();
        let found = [1, 2, 3].map(|ranks| hosts.find_job("j", ranks));
        assert_eq!(found, [Some("c"), Some("b,a"), None]);
        let mistakes = ["m,j,,3,b a\n", "m,j\n"].map(|rows| read(rows).err());
        let expected = ["line 2: 2 hosts of 3 ranks", "line 2: 2 fields: expected 5"];
        assert_eq!(mistakes, expected.map(|text| Some(text.to_owned())));
        assert!(JobHosts::read_table("").is_err());
    }
}

//! Rows that contradict each other or the table of hosts. The rows are judged all the same; readers
//! of the report decide.
//!
//! *Decided here*: three doubts. A job with other numbers of ranks than in the table of hosts, such
//! as four ranks on each node that the table calls one. A row that stands twice in a job, as of two
//! runs under one label. Two forced algorithms with the time of the library's choice at two sizes
//! or more: the library may have ignored the names. Times within 2 % are equal; shorter messages
//! than 8 KiB have no part in the last doubt, since their algorithms differ too little.

use std::collections::{BTreeMap, BTreeSet};

use crate::job_hosts::JobHosts;
use crate::row::{MeasuredRow, RowAlgorithm};

/// The largest difference of equal times.
const EQUAL: f64 = 0.02;

/// The least size, in bytes, at which algorithms have different times.
const BYTES_MIN: u64 = 8192;

/// Returns the doubts about rows, in words.
pub fn find_doubts(rows: &[MeasuredRow], hosts: &JobHosts) -> Vec<String> {
    let mut doubts = Vec::new();
    let jobs: BTreeSet<(&str, u32)> = rows
        .iter()
        .map(|row| (&row.job[..], row.rank_count()))
        .collect();
    for (job, ranks) in jobs {
        let known = hosts.rank_counts(job);
        if !known.is_empty() && !known.contains(&(ranks as usize)) {
            doubts.push(format!(
                "job {job}: {ranks} ranks, but the table of hosts has {known:?}"
            ));
        }
    }
    let mut repeated: BTreeMap<&str, usize> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for row in rows {
        let call = (row.operation, row.bytes, row.nodes, row.ranks_per_node);
        if !seen.insert((&row.job, &row.label, call)) {
            *repeated.entry(&row.job).or_default() += 1;
        }
    }
    let repeated = repeated.into_iter();
    doubts.extend(repeated.map(|(job, count)| {
        format!("job {job}: {count} rows stand twice, as of two runs under one label")
    }));
    doubts.extend(find_ignored_names(rows));
    doubts
}

fn find_ignored_names(rows: &[MeasuredRow]) -> Vec<String> {
    // By call of a job: the time of the library's choice, and the rows with names.
    let mut calls: BTreeMap<_, (Option<f64>, Vec<&MeasuredRow>)> = BTreeMap::new();
    for row in rows.iter().filter(|row| row.bytes >= BYTES_MIN) {
        let call = (&row.job, row.operation, row.rank_count(), row.bytes);
        let (choice, named) = calls.entry(call).or_default();
        match row.algorithm {
            RowAlgorithm::Chosen => *choice = Some(row.median_s),
            // Code of the benchmark itself does what its name says.
            _ if row.label.ends_with("_over") => {}
            _ => named.push(row),
        }
    }
    let mut ignored: BTreeMap<_, (usize, BTreeSet<&str>)> = BTreeMap::new();
    for ((job, operation, ..), (choice, named)) in &calls {
        let Some(choice) = choice else { continue };
        let equal = named
            .iter()
            .filter(|row| (row.median_s / choice - 1.0).abs() < EQUAL);
        let names: BTreeSet<&str> = equal.map(|row| &row.label[..]).collect();
        if names.len() > 1 {
            let (sizes, all) = ignored.entry((*job, *operation)).or_default();
            *sizes += 1;
            all.extend(names);
        }
    }
    let repeated = ignored.into_iter().filter(|(_, (sizes, _))| *sizes > 1);
    let doubt = |((job, operation), (sizes, names)): ((&String, _), (usize, BTreeSet<&str>))| {
        let names = Vec::from_iter(names).join(" and ");
        format!(
            "job {job}: {operation} {names} have the time of the library's choice at {sizes} \
             sizes: the library may have ignored the names"
        )
    };
    repeated.map(doubt).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read_rows;

    const HEADER: &str = "machine,timestamp,nodes,ppn,collective,library,gpu,algorithm,segment,\
                          dtype,bytes,p25_us,median_us,p75_us\n";

    /// Returns the doubts about rows with these labels, sizes and times.
    fn doubts(rows: &[(&str, u64, f64)]) -> Vec<String> {
        let rows = rows.iter().map(|(label, bytes, us)| {
            format!("m,j,4,1,allreduce,CRAY_MPICH,,{label},,int32,{bytes},{us},{us},{us}\n")
        });
        let rows = read_rows(&(HEADER.to_owned() + &rows.collect::<String>()), None);
        let hosts =
            "machine,timestamp,test,ranks,hosts_in_order_of_ranks\nm,j,,8,a b c d e f g h\n";
        let hosts = JobHosts::read_table(hosts).expect("a table");
        find_doubts(&rows.expect("rows").rows, &hosts)
    }

    #[test]
    fn contradictions_are_told() {
        let (doubling, halves) = ("recursive_doubling_mpich", "rabenseifner_mpich");
        let ranks = "job j: 4 ranks, but the table of hosts has [8]";
        let one = |bytes, us| {
            [
                (doubling, bytes, us),
                (halves, bytes, 1.01 * us),
                ("default_mpich", bytes, us),
            ]
        };
        assert_eq!(doubts(&one(8192, 50.0)), [ranks]);
        let two = [one(8192, 50.0), one(65536, 90.0)].concat();
        let ignored = "job j: allreduce rabenseifner_mpich and recursive_doubling_mpich have the \
                       time of the library's choice at 2 sizes: the library may have ignored the \
                       names";
        assert_eq!(doubts(&two), [ranks, ignored]);
        let over = [
            ("recursive_doubling_over", 8192, 50.0),
            ("recursive_doubling_over", 8192, 60.0),
        ];
        let twice = "job j: 1 rows stand twice, as of two runs under one label";
        assert_eq!(doubts(&over), [ranks, twice]);
    }
}

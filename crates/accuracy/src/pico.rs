//! The flat table of PICO: a row for each job, operation, algorithm and size.
//!
//! *Decided here*: the algorithms that simrun has too (`pico.toml`). *Not read*: rows of device
//! memory and of segmented algorithms, and the smallest and other quantiles of the times.
//!
//! Source: github.com/HLC-Lab/pico, commit 413bc5d. The loop is: a barrier, then in each iteration
//! the call between two readings of the clock, and a barrier; a time is the largest of all ranks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::LazyLock;

use collectives::Collective;
use csv::StringRecord;
use serde::Deserialize;
use validation::{ElementType, LoopTiming};

use crate::row::{MeasuredRow, ReadRows, RowAlgorithm, RowError};

/// The columns that are read.
pub(crate) const COLUMNS: &str = "machine,timestamp,nodes,ppn,collective,library,gpu,algorithm,\
                                  segment,dtype,bytes,p25_us,median_us,p75_us";

/// Algorithms by the end of their names, operation and name.
type Algorithms = BTreeMap<String, BTreeMap<String, BTreeMap<String, String>>>;

static ALGORITHMS: LazyLock<Algorithms> =
    LazyLock::new(|| toml::from_str(include_str!("pico.toml")).unwrap_or_default());

/// The texts of a row.
#[derive(Deserialize)]
struct RowText {
    machine: String,
    timestamp: String,
    nodes: String,
    ppn: u32,
    collective: String,
    library: String,
    gpu: String,
    algorithm: String,
    segment: String,
    dtype: String,
    bytes: u64,
    p25_us: f64,
    median_us: f64,
    p75_us: f64,
}

/// Reads the rows of one machine.
pub(crate) fn read_table(text: &str, machine: Option<&str>) -> Result<ReadRows, RowError> {
    let mut reader = csv::Reader::from_reader(text.as_bytes());
    let header = reader.headers().map_err(|_| RowError::Header)?.clone();
    if !COLUMNS
        .split(',')
        .all(|column| header.iter().any(|found| found == column))
    {
        return Err(RowError::Header);
    }
    let mut texts = Vec::new();
    for record in reader.records() {
        texts.push(parse_record(record, &header)?);
    }
    let known: BTreeSet<&str> = texts.iter().map(|(_, row)| row.machine.as_str()).collect();
    let is_wanted = |row: &RowText| machine.is_none_or(|machine| row.machine == machine);
    if machine.is_none_or(|machine| !known.contains(machine)) && known.len() != 1 {
        let known = known.into_iter().map(str::to_owned).collect();
        return Err(RowError::Machine { known });
    }
    let mut found = ReadRows::default();
    for (line, text) in texts.iter().filter(|(_, row)| is_wanted(row)) {
        match parse_row(*line, text) {
            Ok(row) => found.rows.push(row),
            Err(reason) => found.skip_row(reason),
        }
    }
    found.keep_faultless(MeasuredRow::find_fault);
    Ok(found)
}

fn parse_record(
    record: Result<StringRecord, csv::Error>,
    header: &StringRecord,
) -> Result<(u64, RowText), RowError> {
    let at = |position: Option<&csv::Position>| position.map_or(0, csv::Position::line);
    let mistake = |error: &csv::Error, line: u64| {
        // The message without the line, which is named already.
        let problem = match error.kind() {
            csv::ErrorKind::Deserialize { err, .. } => {
                let column = err.field().and_then(|field| header.get(field as usize));
                let column = column.map_or_else(String::new, |column| format!("{column}: "));
                format!("{column}{}", err.kind())
            }
            csv::ErrorKind::UnequalLengths {
                expected_len, len, ..
            } => format!("{len} fields: expected {expected_len}"),
            _ => error.to_string(),
        };
        RowError::Line { line, problem }
    };
    let record = record.map_err(|error| mistake(&error, at(error.position())))?;
    let line = at(record.position());
    let row: RowText = record
        .deserialize(Some(header))
        .map_err(|error| mistake(&error, line))?;
    let times = [row.p25_us, row.median_us, row.p75_us];
    let is_time = |time: &f64| time.is_finite() && *time >= 0.0;
    if !times.iter().all(is_time) {
        let problem = format!("times {times:?}: expected numbers of at least 0");
        return Err(RowError::Line { line, problem });
    }
    Ok((line, row))
}

/// Returns the row, or the reason why the row cannot be judged.
fn parse_row(line: u64, text: &RowText) -> Result<MeasuredRow, String> {
    if !text.gpu.is_empty() {
        return Err("device memory".to_owned());
    }
    if !text.segment.is_empty() {
        return Err("segments".to_owned());
    }
    let operation: Collective = text
        .collective
        .parse()
        .map_err(|()| format!("unknown operation {}", text.collective))?;
    let element = ElementType::from_name(&text.dtype)
        .ok_or_else(|| format!("unknown type {}", text.dtype))?;
    // The nodes of a torus are written as its shape.
    let sides: Result<Vec<u32>, _> = text.nodes.split('x').map(str::parse).collect();
    let sides = sides.map_err(|_| format!("{} nodes", text.nodes))?;
    Ok(MeasuredRow {
        line,
        job: text.timestamp.clone(),
        nodes: sides.iter().copied().fold(1, u32::saturating_mul),
        sides,
        ranks_per_node: text.ppn,
        operation,
        label: text.algorithm.clone(),
        algorithm: find_algorithm(&text.library, operation, &text.algorithm)?,
        timing: LoopTiming::Slowest,
        element,
        bytes: text.bytes,
        median_s: text.median_us * 1e-6,
        half_spread: Some((text.p75_us - text.p25_us) / 2.0 / text.median_us),
    })
}

/// Returns the algorithm of a row.
fn find_algorithm(
    library: &str,
    operation: Collective,
    label: &str,
) -> Result<RowAlgorithm, String> {
    let unknown = || format!("unknown algorithm of {library}, {operation}");
    let of_fjmpi = label.strip_prefix("default-").map(|name| (name, "fjmpi"));
    let found = of_fjmpi.or_else(|| label.rsplit_once('_'));
    let (name, end) = found.ok_or_else(unknown)?;
    // A changed library has the name of the one that was changed.
    if library.starts_with("custom") {
        return Err(unknown());
    }
    if name == "default" {
        return Ok(RowAlgorithm::Chosen);
    }
    let of_end = ALGORITHMS
        .get(end)
        .and_then(|all| all.get(operation.name()));
    let name = of_end.and_then(|all| all.get(name)).ok_or_else(unknown)?;
    let barrier = if library.contains("MPICH") {
        "mpich:k_dissemination"
    } else {
        // PICO's rules file forces this algorithm of Open MPI.
        "openmpi:recursive_doubling"
    };
    Ok(RowAlgorithm::Forced { name, barrier })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "machine,timestamp,test,nodes,ppn,collective,library,version,gpu,\
         algorithm,segment,dtype,elements,bytes,iterations,min_us,p25_us,median_us,p75_us,p90_us\n";

    #[test]
    fn all_listed_algorithms_exist() {
        assert_eq!(ALGORITHMS.len(), 4);
        for (operation, names) in ALGORITHMS.values().flatten() {
            let operation: Collective = operation.parse().unwrap();
            for name in names.values() {
                assert!(
                    collectives::aliases::find(operation, name).is_some(),
                    "{operation} {name}"
                );
            }
        }
    }

    #[test]
    fn a_row_is_read() {
        let row = "m,j,0,2x2,3,reduce_scatter,OMPI,4.1,,ring_ompi,,int32,64,256,9,1,9,10,12,13\n";
        let found = read_table(&format!("{HEADER}{row}"), None).unwrap();
        let expected = MeasuredRow {
            line: 2,
            job: "j".to_owned(),
            nodes: 4,
            sides: vec![2, 2],
            ranks_per_node: 3,
            operation: Collective::ReduceScatter,
            label: "ring_ompi".to_owned(),
            algorithm: RowAlgorithm::Forced {
                name: "openmpi:ring",
                barrier: "openmpi:recursive_doubling",
            },
            timing: LoopTiming::Slowest,
            element: ElementType::Int32,
            bytes: 256,
            median_s: 10.0 * 1e-6,
            half_spread: Some(0.15),
        };
        assert_eq!(found.rows, [expected]);
        assert!(found.skipped.is_empty());
    }

    #[test]
    fn rows_without_a_twin_are_counted() {
        let rows = "m,j,0,4,1,bcast,OMPI,4.1,CUDA,binomial_ompi,,int32,8,32,9,1,2,3,4,5\n\
             m,j,0,4,1,bcast,OMPI,4.1,,sparbit_over,,int32,8,32,9,1,2,3,4,5\n\
             m,j,0,4,1,bcast,OMPI,4.1,,binomial_ompi,,int32,8,32,9,0,0,0.2,1,1\n\
             m,j,0,64,1,gather,OMPI,4.1,,binomial_ompi,,int32,8,32,9,1,2,3,4,5\n\
             m,j,0,4,1,bcast,OMPI,4.1,,default_ompi,,int32,8,32,9,1,2,3,4,5\n";
        let found = read_table(&format!("{HEADER}{rows}"), None).unwrap();
        assert_eq!(found.rows.len(), 1);
        assert_eq!(found.rows[0].algorithm, RowAlgorithm::Chosen);
        let reasons: Vec<&str> = found.skipped.keys().map(String::as_str).collect();
        assert_eq!(
            reasons,
            [
                "device memory",
                "fewer elements than ranks",
                "shorter than 0.5 us",
                "unknown algorithm of OMPI, bcast",
            ]
        );
    }

    #[test]
    fn mistakes_are_named_with_their_line() {
        let read = |text: &str, machine| read_table(text, machine).unwrap_err().to_string();
        assert!(read("size,time\n", None).starts_with("line 1: unknown table: expected"));
        let row = "m,j,0,4,1,bcast,OMPI,4.1,,binomial_ompi,,int32,8,32,9,1,2,x,4,5\n";
        let text = format!("{HEADER}{row}");
        assert_eq!(
            read(&text, None),
            "line 2: median_us: invalid float literal"
        );
        let text = format!("{HEADER}m,j\n");
        assert_eq!(read(&text, None), "line 2: 2 fields: expected 20");
        let text = text.replace("m,j\n", &row.replace(",x,", ",-1,"));
        let expected = "line 2: times [2.0, -1.0, 4.0]: expected numbers of at least 0";
        assert_eq!(read(&text, None), expected);
        let right = row.replace(",x,", ",3,");
        let two = format!("{HEADER}{right}{}", right.replacen('m', "n", 1));
        assert_eq!(read(&two, None), "expected --machine with one of m, n");
        assert_eq!(read(&two, Some("o")), "expected --machine with one of m, n");
        assert_eq!(read_table(&two, Some("n")).unwrap().rows[0].line, 3);
    }
}

//! `simrun analyse`: where a run spends its time and why, from its event log.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use observe::LogReader;
use report::analysis::{Analysis, AnalysisReport};
use simrun::status;

/// Size of the buffer of a log in bytes.
const BUFFER: usize = 1 << 20;

/// An analysis.
#[derive(Args, Clone, Debug)]
pub(crate) struct AnalyseCommand {
    /// An event log, such as simrun --log-events FILE writes, or - for one on standard input
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// The event log of the same run on an ideal network, for the efficiencies of serialisation
    /// and transfer
    #[arg(long, value_name = "LOG")]
    ideal: Option<PathBuf>,

    /// Write analysis.json and CSV files to this directory
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Print no page of text
    #[arg(long)]
    no_text: bool,
}

/// Analyses.
pub(crate) fn run(command: &AnalyseCommand) -> ExitCode {
    match analysed(command) {
        Ok(code) => code,
        Err(problem) => status::refuse(problem),
    }
}

fn analysed(command: &AnalyseCommand) -> Result<ExitCode, String> {
    let folder = command.out.as_deref();
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let mut report = read(&command.log)?;
    if let Some(ideal) = &command.ideal {
        report.compare_with_ideal(&read(ideal)?);
    }
    if let Some(folder) = folder {
        write(&report, folder)?;
    }
    if command.no_text {
        return Ok(ExitCode::SUCCESS);
    }
    Ok(status::print(report.to_string().trim_end()))
}

/// Analyses the log of this name, or the one on standard input.
fn read(path: &Path) -> Result<AnalysisReport, String> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let input: Box<dyn Read> = if is_stdin {
        Box::new(io::stdin().lock())
    } else {
        let file = File::open(path);
        Box::new(file.map_err(|error| format!("{name}: cannot read it: {error}"))?)
    };
    read_all(input).map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("{name}: not an event log of simrun: it is empty"),
        _ => format!("{name}: {error}"),
    })
}

/// Analyses a whole log.
fn read_all(input: Box<dyn Read>) -> io::Result<AnalysisReport> {
    let mut reader = LogReader::new(BufReader::with_capacity(BUFFER, input))?;
    let mut analysis = Analysis::new(reader.ranks());
    while let Some(entry) = reader.next_event()? {
        analysis.event(entry, |number| reader.text(number));
    }
    Ok(analysis.finish(&reader))
}

type Writer<'a> = &'a dyn Fn(&mut Vec<u8>) -> io::Result<()>;

/// Writes the files of a report.
fn write(report: &AnalysisReport, folder: &Path) -> Result<(), String> {
    let json = |out: &mut Vec<u8>| {
        serde_json::to_writer_pretty(&mut *out, report)?;
        out.write_all(b"\n")
    };
    let files: [(&str, Writer<'_>); 4] = [
        ("ranks.csv", &|out| report.write_ranks(out)),
        ("waits.csv", &|out| report.write_waits(out)),
        ("critical.csv", &|out| report.write_critical(out)),
        ("analysis.json", &json),
    ];
    for (name, content) in files {
        let path = folder.join(name);
        let mut bytes = Vec::new();
        content(&mut bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        files::write(&path, bytes).map_err(|error| error.to_string())?;
    }
    Ok(())
}

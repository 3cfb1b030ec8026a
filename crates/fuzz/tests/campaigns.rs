//! Promise: on a correct endpoint layer no property is violated, with any attribute, and with
//! faults of the network; the same seed gives the same observations; defects are found and shrunk.

use std::ops::ControlFlow;
use std::sync::Mutex;

use endpoint::Defect;
use fuzz::{
    Attribute, CampaignEvent, CampaignReport, CampaignSettings, EndpointSettings, Failure, Faults,
    GeneratorSettings, Interaction, Mode, Position, ProgressDriver, Response, RunSettings, Swarm,
    campaign, check, generate_interaction, run,
};
use sim_core::{Digest, Stream};

const FAULTS: Faults = Faults {
    loss: 0.01,
    duplicate: 0.01,
    reorder: 0.05,
    flap: 0.001,
    seed: 0,
};

/// A campaign, and the parameters of the runs.
struct Campaign {
    settings: CampaignSettings,
    run: RunSettings,
}

fn campaign_of(attributes: &[Attribute]) -> Campaign {
    let settings = CampaignSettings {
        generator: GeneratorSettings {
            processes: 3,
            lengths: (0, 4096),
            attributes: attributes.to_vec(),
            rma: true,
            ..GeneratorSettings::default()
        },
        seed: 1,
        tries: Some(1000),
        errors: 1,
        shrink_budget: 10_000,
        jobs: 2,
        grows: false,
    };
    Campaign {
        settings,
        run: RunSettings::default(),
    }
}

fn run_campaign(these: &Campaign) -> CampaignReport {
    these.from(Position::default(), |_| ControlFlow::Continue(()))
}

impl Campaign {
    fn from(
        &self,
        position: Position,
        mut observe: impl FnMut(&Position) -> ControlFlow<()>,
    ) -> CampaignReport {
        let run = |interaction: &Interaction| run(interaction, &self.run);
        let report = campaign(&self.settings, &run, position, |event| match event {
            CampaignEvent::Batch(position, _) => observe(position),
            CampaignEvent::Shrinking(_) => ControlFlow::Continue(()),
        });
        report.expect("workers")
    }
}

fn assert_no_failure(these: &Campaign) -> CampaignReport {
    let report = run_campaign(these);
    if let Some(failure) = report.failures.first() {
        panic!(
            "{}: {}\n{}",
            failure.property,
            failure.description,
            failure.shrunk.to_toml()
        );
    }
    assert_eq!(Some(report.position.tries), these.settings.tries);
    report
}

const ALL: [Attribute; 3] = [Attribute::Ro, Attribute::Ru, Attribute::Uu];

#[test]
fn a1_a_perfect_network() {
    for attribute in ALL {
        assert_no_failure(&campaign_of(&[attribute]));
    }
}

#[test]
fn a4_a_faulty_network() {
    for attribute in ALL {
        let mut these = campaign_of(&[attribute]);
        these.settings.generator.faults = FAULTS;
        assert_no_failure(&these);
    }
}

/// The same interactions pass if all workers poll all the time, and if endpoints make progress only
/// when their program polls.
#[test]
fn polling() {
    let mut all_poll = campaign_of(&ALL);
    all_poll.run.mode = Mode::Polling;
    assert_no_failure(&all_poll);
    let mut no_thread = campaign_of(&ALL);
    no_thread.settings.generator.polling = true;
    no_thread.run.network.progress = ProgressDriver::Polling;
    assert_no_failure(&no_thread);
    no_thread.run.mode = Mode::Polling;
    no_thread.settings.generator.faults = FAULTS;
    assert_no_failure(&no_thread);
}

/// Send and receive buffers run out.
#[test]
fn many_messages() {
    for (send_buffers, receive_buffers) in [(4, 16), (16, 4), (4, 4)] {
        let mut these = campaign_of(&ALL);
        these.run.network.endpoints = EndpointSettings {
            send_buffers,
            receive_buffers,
            ..EndpointSettings::default()
        };
        // A receiver may not poll for a long time.
        these.run.network.endpoints.queue_pairs.rnr_retry = 7;
        these.settings.generator.sends = 40;
        these.settings.generator.outstanding = send_buffers.max(receive_buffers);
        these.settings.generator.rma = false;
        these.settings.tries = Some(300);
        assert_no_failure(&these);
    }
}

#[test]
fn the_number_of_threads_does_not_matter() {
    let mut these = campaign_of(&ALL);
    these.run.network.endpoints.defect = Some(Defect::FenceIgnored);
    these.settings.errors = 3;
    let two = run_campaign(&these);
    these.settings.jobs = 1;
    assert_eq!(run_campaign(&these), two);
    assert_eq!(two.failures.len(), 3);
}

/// A campaign that is interrupted and continued finds the same as one that is not.
#[test]
fn a_campaign_continues() {
    let mut these = campaign_of(&ALL);
    these.settings.grows = true;
    let whole = assert_no_failure(&these);
    let mut last = Position::default();
    these.from(Position::default(), |position| {
        last = position.clone();
        ControlFlow::Break(())
    });
    assert_eq!(last.tries, 256);
    let continued = these.from(last, |_| ControlFlow::Continue(()));
    assert_eq!(continued, whole);
}

/// Each seeded defect is found within the default number of tries, and shrunk to at most 12 steps
/// in the median; the shrunk interaction fails in the same class.
#[test]
fn a2_seeded_defects_are_found_and_shrunk() {
    for &defect in Defect::ALL {
        assert_found(defect, 0..4, 3);
    }
}

/// The same for at least 19 seeds of 20, with the table of `results/fuzzing.md`: slow in a debug
/// build.
#[test]
#[ignore = "long: cargo xtask ci campaigns runs it by name"]
fn a2_seeded_defects_are_found_with_19_of_20_seeds() {
    println!(
        "| defect | seeds | interactions to find | steps | shrunk | longest | runs | property |"
    );
    println!("|---|---|---|---|---|---|---|---|");
    for &defect in Defect::ALL {
        assert_found(defect, 0..20, 19);
    }
}

#[expect(clippy::print_stdout, reason = "the table of results/fuzzing.md")]
fn assert_found(defect: Defect, seeds: std::ops::Range<u64>, least: usize) {
    let count = seeds.end;
    let failures: Vec<Failure> = seeds.filter_map(|seed| failure(defect, seed)).collect();
    let found = failures.len();
    assert!(found >= least, "{defect:?}: {found} seeds of {count}");
    let sorted = |of: fn(&Failure) -> u64| {
        let mut sorted: Vec<u64> = failures.iter().map(of).collect();
        sorted.sort_unstable();
        (sorted[sorted.len() / 2], sorted[sorted.len() - 1])
    };
    let shrunk = sorted(|failure| failure.shrunk.steps.len() as u64);
    let most = match defect {
        // All receive buffers have to be used up: 16 messages, a send and a wait each.
        Defect::BufferNotPosted => 2 * 16 + 12,
        // Two exchanges of handles are 6 steps, and a transfer has to follow each.
        Defect::StaleRemoteHandle => 16,
        _ => 12,
    };
    assert!(
        shrunk.0 <= most,
        "{defect:?}: {} steps in the median",
        shrunk.0
    );
    println!(
        "| {defect:?} | {found} of {count} | {} | {} | {} | {} | {} | `{}` |",
        sorted(|failure| failure.attempt + 1).0,
        sorted(|failure| failure.original.steps.len() as u64).0,
        shrunk.0,
        shrunk.1,
        sorted(|failure| failure.runs.into()).0,
        failures[0].property
    );
}

/// Returns the failure that a seed finds.
fn failure(defect: Defect, seed: u64) -> Option<Failure> {
    let mut these = campaign_of(&ALL);
    these.settings = CampaignSettings {
        generator: GeneratorSettings {
            attributes: ALL.to_vec(),
            rma: true,
            faults: FAULTS,
            ..GeneratorSettings::default()
        },
        seed,
        tries: Some(300),
        errors: 1,
        shrink_budget: 4000,
        jobs: 2,
        grows: false,
    };
    these.run.network.endpoints.defect = Some(defect);
    let report = run_campaign(&these);
    let failure = report.failures.first()?;
    let run = |interaction: &Interaction| run(interaction, &these.run);
    let again = check(&failure.shrunk, &run).expect("workers");
    assert_eq!(again.map(|(name, _)| name), Some(failure.property));
    Some(failure.clone())
}

/// Steps with different commands and steps with one command for several workers behave alike.
#[test]
fn a5_both_forms_of_steps() {
    let run = |interaction: &Interaction| run(interaction, &RunSettings::default());
    let mut stream = Stream::new(3, "forms");
    for _ in 0..200 {
        let swarm = Swarm::draw_weights(&mut stream);
        let interaction =
            generate_interaction(&campaign_of(&ALL).settings.generator, &swarm, &mut stream);
        let single = interaction.with_single_commands();
        assert_eq!(check(&interaction, &run), Ok(None));
        assert_eq!(check(&single, &run), Ok(None), "{}", single.to_toml());
        let text = first_version(&single);
        assert_eq!(Interaction::from_toml(&text), Ok(single), "{text}");
    }
}

/// Returns the text with steps that have one command for several workers.
fn first_version(interaction: &Interaction) -> String {
    let faults = toml::to_string(&interaction.faults).expect("numbers");
    let mut text = format!("version = 1\n[faults]\n{faults}");
    for step in &interaction.steps {
        let workers: Vec<u32> = step.commands.iter().map(|one| one.worker).collect();
        let command = toml::to_string(&step.commands[0].command).expect("numbers");
        text.push_str(&format!(
            "[[steps]]\norigin = {}\nworkers = {workers:?}\n{command}",
            step.origin
        ));
    }
    text
}

/// A campaign that grows stays small: the data that are kept between batches do not grow.
#[test]
fn a6_a_growing_campaign() {
    let mut these = campaign_of(&ALL);
    these.settings.grows = true;
    these.settings.tries = Some(6000);
    these.settings.generator.processes = 2;
    these.settings.generator.faults = FAULTS;
    let report = assert_no_failure(&these);
    assert!(report.position.corpus.len() <= 64);
    assert!(report.position.pairs().len() >= 25, "{:?}", report.position);
}

#[test]
fn the_same_seed_gives_the_same_observations() {
    let generator = GeneratorSettings {
        faults: FAULTS,
        ..campaign_of(&ALL).settings.generator
    };
    let make = || {
        let mut stream = Stream::new(7, "interactions");
        let swarm = Swarm::draw_weights(&mut stream);
        let interaction = generate_interaction(&generator, &swarm, &mut stream);
        let outcome = run(&interaction, &RunSettings::default()).expect("workers");
        (interaction, outcome)
    };
    assert_eq!(make(), make());
}

/// Seeds are kept in texts and reports: faster code draws and observes the same. A change of these
/// digests changes the meaning of all seeds, and belongs into the CHANGELOG.
#[test]
fn observations_of_seeds_do_not_change() {
    let all = || GeneratorSettings {
        attributes: ALL.to_vec(),
        rma: true,
        faults: FAULTS,
        ..GeneratorSettings::default()
    };
    let longer = GeneratorSettings {
        processes: 3,
        lengths: (0, 4096),
        ..all()
    };
    let polling = GeneratorSettings {
        polling: true,
        ..all()
    };
    let mut polls = RunSettings::default();
    polls.network.progress = ProgressDriver::Polling;
    polls.mode = Mode::Polling;
    let defaults = (GeneratorSettings::default(), RunSettings::default());
    let digests = [defaults, (longer, RunSettings::default()), (polling, polls)].map(digest);
    assert_eq!(
        digests,
        ["25af14652f82167f", "92874d44eaaad528", "5512790282a64a0d"]
    );
}

/// Returns the digest of the first 1500 interactions and their observations.
fn digest((generator, settings): (GeneratorSettings, RunSettings)) -> String {
    let digest = Mutex::new(Digest::default());
    let these = CampaignSettings {
        generator,
        seed: 0,
        tries: Some(1500),
        jobs: 1,
        ..campaign_of(&ALL).settings
    };
    let run = |interaction: &Interaction| {
        let outcome = run(interaction, &settings)?;
        let text = format!("{} {outcome:?}", interaction.to_toml());
        digest.lock().expect("no panic").mix_str(&text);
        Ok(outcome)
    };
    let continues = |_: CampaignEvent<'_>| ControlFlow::Continue(());
    let report = campaign(&these, &run, Position::default(), continues).expect("workers");
    assert_eq!(report.position.tries, 1500);
    digest.into_inner().expect("no panic").to_string()
}

#[test]
fn a_text_is_read_as_it_was_written() {
    let mut stream = Stream::new(5, "texts");
    for _ in 0..50 {
        let swarm = Swarm::draw_weights(&mut stream);
        let interaction =
            generate_interaction(&campaign_of(&ALL).settings.generator, &swarm, &mut stream);
        let text = interaction.to_toml();
        assert_eq!(Interaction::from_toml(&text), Ok(interaction), "{text}");
    }
}

/// A worker that is only connected to exists, too: the request is never answered.
#[test]
fn a_worker_without_commands_does_not_answer() {
    let text = "version = 2\n[[steps]]\norigin = 1\ncommands = [{ worker = 0, \
                command = \"connect-to\", to = 2, connection = 1, attribute = \"ro\", \
                timeout = 5000 }]\n[[steps]]\norigin = 1\nworkers = [0]\n\
                command = \"wait-connection\"\nconnection = 1\n";
    let interaction = Interaction::from_toml(text).expect("a text");
    assert_eq!(interaction.workers(), 3);
    let outcome = run(&interaction, &RunSettings::default()).expect("workers");
    let observed = &outcome.responses[0];
    assert_eq!(*observed, [Response::TimedOut { connection: 1 }]);
}

//! A campaign: generates interactions, runs them, checks the properties and shrinks what fails.

use endpoint::EndpointSettings;
use sim_core::Stream;

use crate::driver::run;
use crate::generate::{GeneratorSettings, generate};
use crate::interaction::Interaction;
use crate::properties::PROPERTIES;
use crate::shrink::shrink;

/// Parameters of a campaign.
#[derive(Clone, PartialEq, Debug)]
pub struct CampaignSettings {
    /// Parameters of the interactions.
    pub generator: GeneratorSettings,
    /// Parameters of the endpoints.
    pub endpoints: EndpointSettings,
    /// Seed of all interactions and faults.
    pub seed: u64,
    /// Interactions to run.
    pub tries: u32,
    /// Failures after which the campaign stops.
    pub errors: u32,
    /// Runs that shrinking a failure may take.
    pub shrink_budget: u32,
}

/// A failure.
#[derive(Clone, PartialEq, Debug)]
pub struct Failure {
    /// The number of the try, from 0.
    pub attempt: u32,
    /// Name of the violated property.
    pub property: &'static str,
    /// Description for people, of the shrunk interaction.
    pub description: String,
    /// The interaction as it was generated.
    pub original: Interaction,
    /// The smallest one that fails in the same class.
    pub shrunk: Interaction,
    /// Runs that shrinking took.
    pub runs: u32,
}

/// Result of a campaign.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct CampaignReport {
    /// Interactions that were run.
    pub tries: u32,
    /// Steps in them.
    pub steps: u64,
    /// Failures, in the order in which they were found.
    pub failures: Vec<Failure>,
}

/// Returns the name of the first property that a run of the interaction violates, and how.
///
/// # Errors
/// If the workers cannot be made.
pub fn check(
    interaction: &Interaction,
    settings: EndpointSettings,
) -> Result<Option<(&'static str, String)>, String> {
    let outcome = run(interaction, settings)?;
    Ok(PROPERTIES.iter().find_map(|property| {
        let violation = (property.check)(interaction, &outcome)?;
        Some((property.name, violation))
    }))
}

/// Runs a campaign.
///
/// # Errors
/// If the workers cannot be made.
pub fn campaign(settings: &CampaignSettings) -> Result<CampaignReport, String> {
    let mut report = CampaignReport::default();
    let mut stream = Stream::new(settings.seed, "interactions");
    for attempt in 0..settings.tries {
        let interaction = generate(&settings.generator, &mut stream);
        report.tries += 1;
        report.steps += interaction.steps.len() as u64;
        let found = check(&interaction, settings.endpoints)?;
        let Some((property, _)) = found else {
            continue;
        };
        let same = |candidate: &Interaction| {
            check(candidate, settings.endpoints)
                .is_ok_and(|found| found.is_some_and(|(name, _)| name == property))
        };
        let (shrunk, runs) = shrink(&interaction, settings.shrink_budget, same);
        let described = check(&shrunk, settings.endpoints)?;
        report.failures.push(Failure {
            attempt,
            property,
            description: described.map(|(_, how)| how).unwrap_or_default(),
            original: interaction,
            shrunk,
            runs,
        });
        if report.failures.len() >= settings.errors as usize {
            break;
        }
    }
    Ok(report)
}

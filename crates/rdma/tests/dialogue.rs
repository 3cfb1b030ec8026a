//! Promises: our adapter passes all dialogues, with each path MTU and with numbers that wrap; each
//! case fails with a seeded defect of the adapter, and the families listed for a defect find it.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::collections::BTreeMap;

use rdma::dialogue::{
    CaseFamily, CaseVerdict, DialogueCase, DialogueParameters, FAMILIES, SimulatedDevice, run_case,
};
use rdma::{Defect, Mtu, SoftAdapterSettings};

const STARTS: [rdma::Psn; 2] = [DialogueParameters::PLAIN, DialogueParameters::WRAPPING];

fn verdict(
    case: &DialogueCase,
    parameters: &DialogueParameters,
    defect: Option<Defect>,
) -> CaseVerdict {
    let settings = SoftAdapterSettings {
        defect,
        ..SoftAdapterSettings::default()
    };
    run_case(case, parameters, &mut SimulatedDevice::new(settings)).unwrap()
}

fn cases() -> impl Iterator<Item = (&'static CaseFamily, &'static DialogueCase)> {
    let with_family =
        |family: &'static CaseFamily| family.cases.iter().map(move |case| (family, case));
    FAMILIES.iter().flat_map(with_family)
}

#[test]
fn our_adapter_passes_all_cases() {
    for (family, case) in cases() {
        for (mtu, start) in Mtu::ALL
            .into_iter()
            .flat_map(|mtu| STARTS.map(|start| (mtu, start)))
        {
            let found = verdict(case, &DialogueParameters { mtu, start }, None);
            let name = format!("{}/{} with {mtu:?} from {start}", family.name, case.number);
            assert_eq!(found, CaseVerdict::Pass, "{name}");
        }
    }
}

#[test]
fn an_adapter_passes_all_cases_one_after_another() {
    let mut device = SimulatedDevice::new(SoftAdapterSettings::default());
    for (family, case) in cases() {
        let (mtu, start) = (Mtu::Mtu1024, DialogueParameters::WRAPPING);
        let found = run_case(case, &DialogueParameters { mtu, start }, &mut device);
        assert_eq!(
            found,
            Ok(CaseVerdict::Pass),
            "{}/{}",
            family.name,
            case.number
        );
    }
}

#[test]
fn numbers_of_cases_are_unique() {
    let mut names: Vec<_> = cases()
        .map(|(family, case)| (family.name, case.number))
        .collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}

/// The table of `results/conformance.md` is true.
#[test]
fn seeded_defects_fail_cases() {
    let mut found_by: BTreeMap<_, u32> = BTreeMap::new();
    let mut table = String::from("| defect | cases that fail |\n|---|---|\n");
    for defect in Defect::ALL {
        let mut families = Vec::new();
        for family in FAMILIES.iter() {
            let fails = |case: &&DialogueCase| {
                STARTS.iter().any(|&start| {
                    let parameters = DialogueParameters {
                        mtu: Mtu::Mtu256,
                        start,
                    };
                    verdict(case, &parameters, Some(defect)) != CaseVerdict::Pass
                })
            };
            let failed: Vec<_> = family.cases.iter().filter(fails).collect();
            for case in &failed {
                *found_by.entry((family.name, case.number)).or_default() += 1;
            }
            if !failed.is_empty() {
                families.push(format!("{} {}", family.name, failed.len()));
            }
        }
        assert!(!families.is_empty(), "{defect:?} fails no case");
        table.push_str(&format!("| `{defect:?}` | {} |\n", families.join(", ")));
    }
    let results = concat!(env!("CARGO_MANIFEST_DIR"), "/../../results/conformance.md");
    let results = std::fs::read_to_string(results).unwrap();
    assert!(
        results.contains(&table),
        "expected in results/conformance.md:\n{table}"
    );
    for (family, case) in cases() {
        let name = (family.name, case.number);
        assert!(found_by.contains_key(&name), "{name:?} fails for no defect");
    }
}

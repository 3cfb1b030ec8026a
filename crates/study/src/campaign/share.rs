//! The share of a worker in the points of a study.

use std::str::FromStr;

/// The points with the positions `index` modulo `count` in the order of keys.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Share {
    pub(super) index: usize,
    /// Number of workers, at least 1.
    pub(super) count: usize,
}

/// Variables with the number of a process and the number of processes, and the first number: of
/// Slurm's tasks and job arrays, of PMI (MPICH, Intel MPI) and of Open MPI.
const VARIABLES: [(&str, &str, &str); 4] = [
    ("SLURM_PROCID", "SLURM_NTASKS", ""),
    (
        "SLURM_ARRAY_TASK_ID",
        "SLURM_ARRAY_TASK_COUNT",
        "SLURM_ARRAY_TASK_MIN",
    ),
    ("PMI_RANK", "PMI_SIZE", ""),
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", ""),
];

impl Share {
    /// All points.
    pub(super) const ALL: Self = Self { index: 0, count: 1 };

    /// Returns the share of this process in the job of a batch system; all points outside of one.
    pub(super) fn of_job() -> Result<Self, String> {
        let number = |name: &str| -> Option<usize> {
            let value = std::env::var_os(name)?;
            value.to_str()?.parse().ok()
        };
        for (index, count, first) in VARIABLES {
            if let (Some(position), Some(workers)) = (number(index), number(count)) {
                // A job of one task can be a task of an array.
                if workers == 1 {
                    continue;
                }
                let position = position.saturating_sub(number(first).unwrap_or(0));
                return Self::new(position, workers)
                    .map_err(|error| format!("{index} and {count}: {error}"));
            }
        }
        Ok(Self::ALL)
    }

    fn new(index: usize, count: usize) -> Result<Self, String> {
        if index < count {
            Ok(Self { index, count })
        } else {
            let most = count.saturating_sub(1);
            Err(format!(
                "worker {index} of {count}: expected a worker from 0 to {most}"
            ))
        }
    }

    /// Returns true for the position of a point of this share.
    pub(super) const fn has_position(&self, position: usize) -> bool {
        position % self.count == self.index
    }
}

impl FromStr for Share {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let numbers = text
            .split_once('/')
            .and_then(|(index, count)| Some((index.parse().ok()?, count.parse().ok()?)));
        let (index, count) = numbers.ok_or("expected I/N, such as 0/4")?;
        Self::new(index, count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_divide_the_points() {
        let shares: Vec<Share> = (0..3)
            .map(|index| format!("{index}/3").parse().expect("a share"))
            .collect();
        for position in 0..20 {
            assert_eq!(
                shares
                    .iter()
                    .filter(|share| share.has_position(position))
                    .count(),
                1
            );
        }
        let refused = |text: &str| Share::from_str(text).expect_err("refused");
        assert_eq!(
            refused("3/3"),
            "worker 3 of 3: expected a worker from 0 to 2"
        );
        assert_eq!(refused("1"), "expected I/N, such as 0/4");
        assert!(refused("0/0").starts_with("worker 0 of 0"));
    }
}

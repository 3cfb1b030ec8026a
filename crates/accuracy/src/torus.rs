//! Hosts of jobs that run on a box of a torus.
//!
//! *Decided here*: ranks go along the first side of the box first, then along the second one. A
//! torus of twice as many dimensions as the box is a network such as Tofu: each side of the box
//! goes up in one dimension and comes back beside that, so that the ends of a side are neighbours.
//!
//! Source: Ajima et al., "Tofu: a 6D mesh/torus interconnect for exascale computers", IEEE
//! Computer 42(11), 2009.

use platform::{Platform, Shape};

use crate::row::MeasuredRow;

/// Returns the hosts in the order of ranks; `None` if the platform is no torus with such a box.
pub(crate) fn name_hosts(platform: &Platform, row: &MeasuredRow) -> Option<String> {
    let Some(Shape::Grid(dimensions)) = platform.host_shape() else {
        return None;
    };
    let places = box_places(&row.sides, &dimensions)?;
    let hosts: Vec<_> = platform.hosts().collect();
    let count = row.ranks_per_node;
    let names = places.into_iter().map(|place| {
        let name = platform.host_name(hosts[place as usize]);
        format!("{name}:{count}")
    });
    Some(names.collect::<Vec<String>>().join(","))
}

/// Returns the numbers of the hosts of a box, at the origin of a torus.
fn box_places(sides: &[u32], dimensions: &[u32]) -> Option<Vec<u32>> {
    let is_folded = dimensions.len() == 2 * sides.len();
    if !is_folded && dimensions.len() != sides.len() {
        return None;
    }
    let mut places = vec![0];
    let mut stride = 1;
    for (at, (side, dimension)) in sides.iter().zip(dimensions).enumerate() {
        let length = if is_folded { side.div_ceil(2) } else { *side };
        let beside: u32 = dimensions.iter().take(sides.len() + at).product();
        let is_wide = !is_folded || *side < 2 || dimensions[sides.len() + at] > 1;
        if length > *dimension || !is_wide {
            return None;
        }
        let steps = (0..*side).map(|step| match step < length {
            true => step * stride,
            false => (side - 1 - step) * stride + beside,
        });
        let before = &places;
        places = steps
            .flat_map(|step| before.iter().map(move |place| place + step))
            .collect();
        stride *= dimension;
    }
    Some(places)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_box_has_its_hosts_side_by_side() {
        let places = box_places(&[2, 3], &[4, 4]);
        assert_eq!(places, Some(vec![0, 1, 4, 5, 8, 9]));
        assert_eq!(box_places(&[2, 5], &[4, 4]), None);
        assert_eq!(box_places(&[4], &[4, 4, 4]), None);
    }

    #[test]
    fn a_folded_side_is_a_ring() {
        let places = box_places(&[4, 1], &[4, 4, 2, 2]);
        assert_eq!(places, Some(vec![0, 1, 17, 16]));
        let places = box_places(&[1, 4], &[4, 4, 2, 2]);
        assert_eq!(places, Some(vec![0, 4, 36, 32]));
        assert_eq!(box_places(&[10, 1], &[4, 4, 2, 2]), None);
    }
}

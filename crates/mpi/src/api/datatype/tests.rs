//! Promise: packing and unpacking agree with a list of byte offsets, for all ways to make a
//! datatype.

use proptest::prelude::*;

use super::*;

fn offsets(datatype: &Datatype, count: u64) -> Vec<u64> {
    let mut all = Vec::new();
    datatype.runs(0, count, &mut |start, length| {
        all.extend(start..start + length);
    });
    all
}

#[test]
fn the_examples_of_the_standard() {
    // A double at 0 and a character at 8, extent 16 (MPI 4.1, example 5.1 and those that follow
    // it).
    let pair = Datatype::structure(&[(1, 0, Datatype::of::<f64>()), (1, 8, Datatype::of::<u8>())]);
    let pair = pair.unwrap().resized(16);
    assert_eq!((pair.size(), pair.extent()), (9, 16));
    let three = Datatype::contiguous(3, &pair).unwrap();
    assert_eq!((three.size(), three.extent()), (27, 48));
    let expected: Vec<u64> = [0, 16, 32]
        .iter()
        .flat_map(|start| *start..start + 9)
        .collect();
    assert_eq!(offsets(&three, 1), expected);
    // MPI_TYPE_VECTOR(2, 3, 4, pair): blocks at 0 and 64.
    let vector = Datatype::vector(2, 3, 4, &pair).unwrap();
    assert_eq!((vector.size(), vector.extent()), (54, 112));
    let expected: Vec<u64> = [0, 16, 32, 64, 80, 96]
        .iter()
        .flat_map(|start| *start..start + 9)
        .collect();
    assert_eq!(offsets(&vector, 1), expected);
    // MPI_TYPE_INDEXED(2, (3, 1), (4, 0), pair): the blocks in the order in which they are named.
    let indexed = Datatype::indexed(&[(3, 4), (1, 0)], &pair).unwrap();
    let expected: Vec<u64> = [64, 80, 96, 0]
        .iter()
        .flat_map(|start| *start..start + 9)
        .collect();
    assert_eq!(offsets(&indexed, 1), expected);
    assert_eq!((indexed.size(), indexed.extent()), (36, 112));
}

#[test]
fn mistakes_name_what_is_needed() {
    let column = Datatype::vector(3, 1, 4, &Datatype::of::<u16>()).unwrap();
    let error = column.pack(1, &Buffer::zeroed(17)).err();
    assert_eq!(
        error,
        Some(Error::View {
            needed: 18,
            length: 17
        })
    );
    assert!(column.pack(1, &Buffer::zeroed(18)).is_ok());
    let too_long = Datatype::contiguous(u64::MAX, &Datatype::of::<u16>());
    assert_eq!(too_long, Err(Error::Type));
    let far = [(1, u64::MAX, Datatype::of::<u8>())];
    assert_eq!(Datatype::structure(&far), Err(Error::Type));
    let huge = Datatype::contiguous(1 << 40, &Datatype::of::<f64>()).unwrap();
    assert_eq!(
        huge.pack(1, &Buffer::phantom(1 << 43)).unwrap().len(),
        1 << 43
    );
    assert_eq!(
        huge.pack(1 << 40, &Buffer::phantom(1 << 43)).err(),
        Some(Error::Type)
    );
}

#[test]
fn nothing_takes_no_place() {
    let empty = Buffer::zeroed(0);
    for datatype in [
        Datatype::bytes(0),
        Datatype::contiguous(0, &Datatype::of::<f64>()).unwrap(),
        Datatype::vector(0, 3, 4, &Datatype::of::<f64>()).unwrap(),
        Datatype::indexed(&[(0, 7)], &Datatype::of::<f64>()).unwrap(),
        Datatype::structure(&[]).unwrap(),
    ] {
        assert_eq!((datatype.size(), datatype.extent()), (0, 0));
        assert!(datatype.pack(5, &empty).unwrap().is_empty());
    }
    assert!(Datatype::of::<f64>().pack(0, &empty).unwrap().is_empty());
}

/// Returns a datatype and the byte offsets of one item, made side by side, and the extent.
fn datatype() -> impl Strategy<Value = (Datatype, Vec<u64>, u64)> {
    let leaf =
        (1..5_u64).prop_map(|size| (Datatype::bytes(size), (0..size).collect::<Vec<u64>>(), size));
    leaf.prop_recursive(3, 64, 4, |item| {
        let repeat = |offsets: &[u64], starts: &[u64]| -> Vec<u64> {
            starts
                .iter()
                .flat_map(|start| offsets.iter().map(move |offset| start + offset))
                .collect()
        };
        let vector = (item.clone(), 0..4_u64, 0..4_u64, 0..3_u64).prop_map(
            move |((item, offsets, extent), count, length, gap)| {
                let stride = length + gap;
                let starts: Vec<u64> = (0..count)
                    .flat_map(|block| (0..length).map(move |at| (block * stride + at) * extent))
                    .collect();
                let end = starts.last().map_or(0, |last| last + extent);
                (
                    Datatype::vector(count, length, stride, &item).unwrap(),
                    repeat(&offsets, &starts),
                    end,
                )
            },
        );
        let resized = (item.clone(), 0..5_u64).prop_map(|((item, offsets, extent), more)| {
            (item.resized(extent + more), offsets, extent + more)
        });
        let structure =
            prop::collection::vec((item, 0..3_u64, 0..4_u64), 0..4).prop_map(move |members| {
                let (mut parts, mut all, mut at, mut end) = (Vec::new(), Vec::new(), 0, 0);
                for ((item, offsets, extent), count, gap) in members {
                    at += gap;
                    let starts: Vec<u64> = (0..count).map(|number| at + number * extent).collect();
                    all.extend(repeat(&offsets, &starts));
                    parts.push((count, at, item));
                    at += count * extent;
                    if count > 0 {
                        end = at;
                    }
                }
                (Datatype::structure(&parts).unwrap(), all, end)
            });
        prop_oneof![vector, resized, structure]
    })
}

proptest! {
    #[test]
    fn a_datatype_is_its_list_of_offsets((datatype, one, extent) in datatype(), count in 0..3_u64, short in 0..9_usize) {
        prop_assert_eq!((datatype.size(), datatype.extent()), (one.len() as u64, extent));
        let all: Vec<u64> = (0..count).flat_map(|number| one.iter().map(move |offset| number * extent + offset)).collect();
        prop_assert_eq!(offsets(&datatype, count), all.clone());
        let needed = all.iter().max().map_or(0, |last| last + 1);
        let bytes: Vec<u8> = (0..needed).map(|at| (at % 251) as u8 + 1).collect();
        let buffer = Buffer::from(bytes.clone());
        let packed = datatype.pack(count, &buffer).unwrap();
        let expected: Vec<u8> = all.iter().map(|&at| bytes[at as usize]).collect();
        prop_assert_eq!(packed.bytes().unwrap(), &expected);
        prop_assert_eq!(datatype.pack(count, &Buffer::phantom(needed)).unwrap().len(), packed.len());
        // A message that is shorter fills the first places.
        let kept = expected.len().saturating_sub(short);
        let mut target = Buffer::zeroed(needed);
        datatype.unpack(count, &Buffer::from(expected[..kept].to_vec()), &mut target).unwrap();
        let mut wanted = vec![0; needed as usize];
        for &at in &all[..kept] {
            wanted[at as usize] = bytes[at as usize];
        }
        prop_assert_eq!(target.bytes().unwrap(), &wanted);
    }
}

//! Communicators of other kinds with real data: intercommunicators and grids, communicators of a
//! group alone, calls on derived datatypes and in place.

use mpi::{InterRoot, prelude::*};

use crate::{check, message};

/// Returns an intercommunicator between odd and even ranks; the leaders are ranks 0 and 1.
async fn odd_and_even(world: &Comm) -> Result<InterComm> {
    let odd = world.rank() % 2;
    let colour = u32::from(odd == 1);
    let half = world.split(Some(colour), 0).await?;
    let half = half.expect("each rank has a colour");
    let between = half.intercomm_create(0, world, 1 - odd, 9).await?;
    half.free()?;
    Ok(between)
}

/// Odd and even ranks exchange messages and data of collectives, and merge.
pub(crate) async fn intercommunicators(world: &Comm, threshold: u64) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let between = odd_and_even(world).await?;
    let others: Vec<usize> = (0..size).filter(|other| other % 2 != rank % 2).collect();
    assert_eq!(between.remote_size(), others.len());
    for length in [0, 8, threshold, threshold + 8] {
        let own = message(world, rank as u64, length);
        let mut sending = Vec::new();
        for other in 0..others.len() {
            sending.push(between.isend(own.clone(), other, 0)?);
        }
        for _ in &others {
            let mut got = world.buffer(length);
            let status = between.recv(&mut got, ANY_SOURCE, ANY_TAG).await?;
            check(&got, others[status.source] as u64, length);
        }
        waitall(&mut sending).await?;
        for root in [0, 1, size - 1] {
            with_root(world, &between, root, length).await?;
        }
        let all = between.allgather(own, length).await?;
        let mut request = between.alltoall(all, length).start()?;
        let again = request.wait().await?.buffer;
        for place in 0..others.len() as u64 {
            // All ranks of the other group have given this one its own block.
            let part = again.slice(place * length, length);
            check(&part, rank as u64, length);
        }
    }
    let own = world.buffer_of(&[rank as u64]);
    let total = between.allreduce(own, &Op::sum::<u64>()).await?;
    let sum: usize = others.iter().sum();
    if let Some(values) = total.values::<u64>()? {
        assert_eq!(values, [sum as u64]);
    }
    between.barrier().await?;
    let merged = between.merge(rank % 2 == 0).await?;
    let odd = size / 2;
    let expected = if rank % 2 == 1 {
        rank / 2
    } else {
        odd + rank / 2
    };
    assert_eq!((merged.rank(), merged.size()), (expected, size));
    merged.barrier().await?;
    merged.free()?;
    between.free()?;
    let group = world.group().incl(&[1, 0])?;
    if let Some(pair) = world.create_group(&group, 3).await? {
        assert_eq!(pair.rank(), 1 - rank);
        pair.barrier().await?;
        pair.free()?;
    }
    Ok(())
}

/// Broadcasts data of one rank, and collects data at that rank.
async fn with_root(world: &Comm, between: &InterComm, root: usize, length: u64) -> Result<()> {
    let rank = world.rank();
    let others = (0..world.size()).filter(|other| other % 2 != rank % 2);
    let own = message(world, rank as u64, length);
    let side = match root {
        root if root == rank => InterRoot::Root,
        root if root % 2 == rank % 2 => InterRoot::Null,
        root => InterRoot::Remote(root / 2),
    };
    let mut data = world.buffer(length);
    if side == InterRoot::Root {
        data = own.clone();
    }
    let data = between.bcast(data, side).await?;
    if side != InterRoot::Null {
        check(&data, root as u64, length);
    }
    let room = world.buffer(length * between.remote_size() as u64);
    let block = match side {
        InterRoot::Root => room,
        _ => own,
    };
    let mut block = between.gather(block, side).await?;
    if side == InterRoot::Root {
        for (place, other) in (0..).zip(others) {
            let part = block.slice(place * length, length);
            check(&part, other as u64, length);
        }
    }
    if let InterRoot::Remote(_) = side {
        block = world.buffer(length);
    }
    let block = between.scatter(block, side).await?;
    if let InterRoot::Remote(_) = side {
        // What the ranks gave comes back.
        check(&block, rank as u64, length);
    }
    Ok(())
}

/// A ring exchanges blocks with its neighbours in three forms.
pub(crate) async fn neighbors(world: &Comm, threshold: u64) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let ring = world.cartesian(&[size], &[true]).await?;
    let ring = ring.expect("all ranks");
    let (below, above) = ring.shift(0, 1)?;
    for length in [8, threshold] {
        // The blocks that a rank sends below and above.
        let number = |rank: usize, side: u64| 2 * rank as u64 + side;
        let mut blocks = world.buffer(2 * length);
        for side in 0..2 {
            let block = message(world, number(rank, side), length);
            blocks.write(side * length, &block);
        }
        let verify = |found: &Buffer| {
            check(&found.slice(0, length), number(below, 1), length);
            check(&found.slice(length, length), number(above, 0), length);
        };
        let mut first = ring.neighbor_alltoall(&blocks).start()?;
        let mut second = ring.neighbor_alltoall(&blocks).init()?;
        second.start()?;
        verify(&ring.neighbor_alltoall(&blocks).await?);
        verify(&second.wait().await?.buffer);
        verify(&first.wait().await?.buffer);
    }
    ring.free()
}

/// Exchanges columns of matrices with elements of 8 bytes, and exchanges in place.
pub(crate) async fn views(world: &Comm, threshold: u64) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    for rows in [1, threshold / 8 + 1] {
        // Column `to` of the matrix of a rank is for rank `to`.
        let columns = size as u64;
        let number =
            |from: usize, to: usize, row: u64| (from as u64 * columns + to as u64) << 32 | row;
        let matrix: Vec<u64> = (0..rows)
            .flat_map(|row| (0..size).map(move |to| number(rank, to, row)))
            .collect();
        let matrix = world.buffer_of(&matrix);
        let element = Datatype::of::<u64>();
        let column = Datatype::vector(rows, 1, columns, &element)?.resized(8);
        let mut found = world.buffer(matrix.len());
        let exchange = world.alltoall(&matrix).packing(columns, &column);
        let exchange = exchange.into_place(&mut found);
        exchange.unpacking(rows * columns, &element).await?;
        let expected: Vec<u64> = (0..size)
            .flat_map(|from| (0..rows).map(move |row| number(from, rank, row)))
            .collect();
        let verify = |found: &Buffer| -> Result<()> {
            if let Some(values) = found.values::<u64>()? {
                assert!(values == expected, "rank {rank}");
            }
            Ok(())
        };
        verify(&found)?;
        let send: Vec<_> = (0..columns).map(|to| (1, 8 * to, column.clone())).collect();
        let recv: Vec<_> = (0..columns)
            .map(|from| (rows, 8 * from * rows, element.clone()))
            .collect();
        let mut room = world.buffer(matrix.len());
        let exchange = world.alltoall_w(&matrix, &send, &mut room, &recv);
        let mut request = exchange.start()?;
        let mut packed = world.buffer(matrix.len());
        let own = Datatype::structure(&send)?.pack(1, &matrix)?;
        packed.write(0, &own);
        world.alltoall_in(&mut packed).await?;
        verify(&packed)?;
        verify(&request.wait().await?.buffer)?;
    }
    Ok(())
}

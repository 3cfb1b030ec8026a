//! The pictures of the page: timeline, load of links, communication matrix, sizes of messages.
//!
//! Each has a bounded number of shapes: neighbouring bins of time merge where there are many rows.

use std::collections::BTreeMap;
use std::io;

use super::overview::{ACTIVITIES, TimelineOverview, activity_name};
use super::picture::{
    AREA, LEFT, LEVELS, LegendEntry, Picture, Shape, level, scale, stepping, utilisation_scale,
};
use crate::analysis::seconds;
use crate::network::{NetworkReport, PairMatrix, SizeHistogram, bytes};

/// Links in the picture of the load at most: the busiest.
const LINKS_MAX: usize = 24;

/// Cells of a picture at most.
const CELLS_MAX: usize = 8192;

/// Parts of cells in the timeline at most.
const PARTS_MAX: usize = 32_768;

/// Space above the area of data.
const TOP: f64 = 8.0;

/// Space below the picture for an axis.
const BOTTOM: f64 = 24.0;

/// Cells along an edge of the communication matrix at most.
const BLOCKS_MAX: u32 = 64;

/// Maximum number of calls in the picture of the message sizes.
const CALLS_MAX: usize = 8;

/// Height of a histogram.
const HISTOGRAM: f64 = 64.0;

/// Returns the height of each of some rows.
fn row_height(rows: usize) -> f64 {
    (640.0 / rows.max(1) as f64).clamp(10.0, 28.0).floor()
}

/// Returns an empty picture for an area of data of this height.
fn empty(id: &'static str, title: &str, description: String, height: f64) -> Picture {
    Picture {
        id: id.to_owned(),
        title: title.to_owned(),
        description,
        width: LEFT + AREA + 24.0,
        height: TOP + height + BOTTOM,
        ..Picture::default()
    }
}

/// Returns the text of a range of ranks.
fn rank_range_text((first, last): (usize, usize)) -> String {
    if first == last {
        format!("rank {first}")
    } else {
        format!("ranks {first} to {last}")
    }
}

/// Returns the style of an activity: the name of the activity in lower case with hyphens.
fn style(activity: usize) -> String {
    let name = activity_name(activity);
    name.replace(", ", "-").replace(' ', "-")
}

/// Shares of the activities, by group and interval of time.
type Shares = Vec<Vec<[f64; ACTIVITIES]>>;

/// Returns the number of bins that make an interval, and the shares: few enough to be drawn.
fn shares(overview: &TimelineOverview) -> (usize, Shares) {
    let (groups, (bins, _)) = (overview.groups(), overview.columns());
    let mut merged = (groups * bins).div_ceil(CELLS_MAX).next_power_of_two();
    loop {
        let intervals = bins.div_ceil(merged);
        let shares: Shares = (0..groups)
            .map(|group| {
                let parts = (0..intervals).map(|at| at * merged..(at + 1) * merged);
                parts.map(|part| overview.shares(group, part)).collect()
            })
            .collect();
        let all = shares.iter().flatten().flatten();
        if intervals == 1 || all.filter(|share| **share > 0.0).count() <= PARTS_MAX {
            return (merged, shares);
        }
        merged *= 2;
    }
}

/// Draws the shares of activities as a function of time; `None` if no time passes.
pub(super) fn timeline(overview: &TimelineOverview) -> io::Result<Option<Picture>> {
    let (groups, (bins, bin_s)) = (overview.groups(), overview.columns());
    if groups == 0 || bins == 0 {
        return Ok(None);
    }
    let (merged, shares) = shares(overview);
    let step_s = bin_s * merged as f64;
    let height = row_height(groups);
    let whole = height * groups as f64;
    let width = AREA * step_s / overview.end_s();
    let description = format!(
        "For {groups} rows of ranks from 0 to {}: the share of each activity in {} intervals of {}",
        seconds(overview.end_s()),
        bins.div_ceil(merged),
        seconds(step_s)
    );
    let mut picture = empty("timeline", "Timeline of the ranks", description, whole);
    let mut shapes: Vec<Shape> = (0..ACTIVITIES).map(style).map(Shape::new).collect();
    for (group, cells) in shares.iter().enumerate() {
        let mut column = 0;
        for run in cells.chunk_by(PartialEq::eq) {
            let x = LEFT + width * column as f64;
            let mut y = TOP + height * group as f64;
            for (activity, share) in run[0].iter().enumerate().filter(|(_, share)| **share > 0.0) {
                let part = share * (height - 1.0);
                shapes[activity].rectangle((x, y), (width * run.len() as f64, part));
                y += part;
            }
            column += run.len();
        }
    }
    let drawn: Vec<usize> = (0..ACTIVITIES)
        .filter(|&activity| !shapes[activity].path.is_empty())
        .collect();
    picture.legend = (drawn.iter())
        .map(|&activity| LegendEntry {
            style: style(activity),
            text: activity_name(activity).to_owned(),
        })
        .collect();
    shapes.retain(|shape| !shape.path.is_empty());
    picture.shapes = shapes;
    picture.frame(TOP, (AREA, whole));
    let names: Vec<String> = (0..groups)
        .map(|group| rank_range_text(overview.ranks_of(group)))
        .collect();
    picture.row_names(TOP, height, &names);
    picture.time_axis(TOP + whole, overview.end_s());
    timeline_data(&mut picture, overview, (step_s, &shares), &drawn)?;
    Ok(Some(picture))
}

/// Adds the data of a timeline: a row per group and interval, a column per activity.
fn timeline_data(
    picture: &mut Picture,
    overview: &TimelineOverview,
    (step_s, shares): (f64, &Shares),
    activities: &[usize],
) -> io::Result<()> {
    let mut header = vec!["first_rank", "last_rank", "begin_s"];
    header.extend(activities.iter().map(|activity| activity_name(*activity)));
    let mut rows = vec![header.into_iter().map(str::to_owned).collect()];
    for (group, cells) in shares.iter().enumerate() {
        let (first, last) = overview.ranks_of(group);
        for (column, cell) in cells.iter().enumerate() {
            let begin = format!("{:e}", step_s * column as f64);
            let mut row = vec![first.to_string(), last.to_string(), begin];
            row.extend(activities.iter().map(|at| rounded(cell[*at]).to_string()));
            rows.push(row);
        }
    }
    picture.set_data(rows)
}

/// Returns a share with a precision of a thousandth.
fn rounded(share: f64) -> f64 {
    (share * 1000.0).round() / 1000.0
}

/// Draws the utilisation of the busiest links as a function of time; `None` without links.
pub(super) fn utilisation_picture(network: &NetworkReport) -> io::Result<Option<Picture>> {
    let load = &network.over_time;
    let mut busiest: Vec<(&String, &Vec<f64>)> = load.links.iter().zip(&load.utilisation).collect();
    busiest.truncate(LINKS_MAX);
    // Short names first, so that the link of node 2 stands before the link of node 10.
    busiest.sort_by_key(|(name, _)| (name.len(), *name));
    let names: Vec<String> = busiest.iter().map(|(name, _)| (*name).clone()).collect();
    let bins = busiest.iter().map(|(_, row)| row.len()).max().unwrap_or(0);
    if bins == 0 {
        return Ok(None);
    }
    let links = names.len();
    let merged = (links * bins).div_ceil(CELLS_MAX).next_power_of_two();
    let columns = bins.div_ceil(merged);
    let step_s = load.bin_s * merged as f64;
    let means: Vec<Vec<f64>> = (busiest.iter())
        .map(|(_, row)| {
            let mut row = (*row).clone();
            row.resize(columns * merged, 0.0);
            let parts = row.chunks(merged);
            parts
                .map(|part| part.iter().sum::<f64>() / merged as f64)
                .collect()
        })
        .collect();
    let most = means.iter().flatten().copied().fold(0.0, f64::max);
    let (end, legend) = utilisation_scale(most);
    let height = row_height(links);
    let whole = height * links as f64;
    let description = format!(
        "Utilisation of the {links} busiest of {} links in {columns} intervals of {}; those without any bytes are empty",
        network.links.len(),
        seconds(step_s)
    );
    let mut picture = empty("links", "Utilisation of links", description, whole);
    let cells: Vec<Vec<Option<u8>>> = (means.iter())
        .map(|row| row.iter().map(|share| level(share / end)).collect())
        .collect();
    picture.cells(TOP, (AREA * step_s / network.end_s, height), &cells);
    picture.frame(TOP, (AREA, whole));
    picture.row_names(TOP, height, &names);
    picture.time_axis(TOP + whole, network.end_s);
    picture.legend = legend;
    let mut header = vec!["begin_s".to_owned()];
    header.extend(names);
    let rows = (0..columns).map(|column| {
        let begin = format!("{:e}", step_s * column as f64);
        let shares = means.iter().map(|row| format!("{:.4}", row[column]));
        std::iter::once(begin).chain(shares).collect()
    });
    picture.set_data(std::iter::once(header).chain(rows))?;
    Ok(Some(picture))
}

/// Messages and bytes by source and destination, as numbers of blocks of ranks.
type BlockSums = BTreeMap<(u32, u32), (u64, u64)>;

/// Returns the number of ranks in a block, so that there are few blocks, and the sums.
fn block_sums(matrix: &PairMatrix, count: u32) -> (u32, BlockSums) {
    let least = count.div_ceil(BLOCKS_MAX).next_power_of_two();
    let block = least.max(matrix.ranks_per_block);
    let merged = block / matrix.ranks_per_block.max(1);
    let mut sums = BlockSums::new();
    for entry in &matrix.entries {
        let key = (entry.source / merged, entry.destination / merged);
        let sum = sums.entry(key).or_default();
        sum.0 += entry.messages;
        sum.1 = sum.1.saturating_add(entry.bytes);
    }
    (block, sums)
}

/// Draws the communication matrix of this many ranks; `None` without messages.
pub(super) fn matrix(network: &NetworkReport, count: u32) -> io::Result<Option<Picture>> {
    if network.matrix.entries.is_empty() {
        return Ok(None);
    }
    let (block, sums) = block_sums(&network.matrix, count);
    let blocks = count.div_ceil(block) as usize;
    let size = (560.0 / blocks as f64).clamp(8.0, 28.0).floor();
    let whole = size * blocks as f64;
    let description = format!(
        "Bytes that the ranks of a row send to those of a column, on a logarithmic scale; ranks per cell: {block}"
    );
    let mut picture = empty("matrix", "Communication matrix", description, whole);
    picture.width = (LEFT + whole + 24.0).max(360.0);
    matrix_cells(&mut picture, &sums, (blocks, size));
    picture.frame(TOP, (whole, whole));
    let names: Vec<String> = (0..blocks)
        .map(|at| format!("from {}", at * block as usize))
        .collect();
    picture.row_names(TOP, size, &names);
    for at in (0..blocks).step_by(stepping(44.0, size)) {
        let name = format!("to {}", at * block as usize);
        let x = LEFT + size * (at as f64 + 0.5);
        picture.text((x, TOP + whole + 14.0), "middle", &name);
    }
    let header = [
        "source",
        "destination",
        "ranks_per_block",
        "messages",
        "bytes",
    ];
    let rows = sums
        .iter()
        .map(|((source, destination), (messages, bytes))| {
            vec![
                (source * block).to_string(),
                (destination * block).to_string(),
                block.to_string(),
                messages.to_string(),
                bytes.to_string(),
            ]
        });
    picture.set_data(std::iter::once(header.map(str::to_owned).to_vec()).chain(rows))?;
    Ok(Some(picture))
}

/// Draws the cells of a matrix of this many blocks and this cell size, and the legend.
fn matrix_cells(picture: &mut Picture, sums: &BlockSums, (blocks, size): (usize, f64)) {
    let lengths = || sums.values().map(|sum| sum.1).filter(|bytes| *bytes > 0);
    let fewest = lengths().min().unwrap_or(1) as f64;
    let most = lengths().max().unwrap_or(1) as f64;
    let range = libm::log(most / fewest);
    let mut cells = vec![vec![None; blocks]; blocks];
    let mut nothing = Shape::new("nothing".to_owned());
    for (&(source, destination), &(_, bytes)) in sums {
        let (row, column) = (source as usize, destination as usize);
        if bytes == 0 {
            let corner = (LEFT + size * column as f64, TOP + size * row as f64);
            nothing.rectangle(corner, (size, size));
        } else if let Some(cell) = cells.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell = if range > 0.0 {
                level(libm::log(bytes as f64 / fewest) / range).or(Some(0))
            } else {
                Some(LEVELS - 1)
            };
        }
    }
    picture.cells(TOP, (size, size), &cells);
    if !nothing.path.is_empty() {
        picture.legend.push(LegendEntry {
            style: nothing.style.clone(),
            text: "messages of 0 B".to_owned(),
        });
        picture.shapes.push(nothing);
    }
    if lengths().next().is_some() {
        let scale = scale(|share| bytes((fewest * libm::exp(range * share)).round()));
        let skipped = if range > 0.0 { 0 } else { scale.len() - 1 };
        picture.legend.extend(scale.into_iter().skip(skipped));
    }
}

/// Returns the number of a class of lengths: 0, and one for each power of two.
fn class_of(from_bytes: u64) -> u32 {
    from_bytes.checked_ilog2().map_or(0, |power| power + 1)
}

/// Draws the sizes of messages by call; `None` without messages.
pub(super) fn sizes(network: &NetworkReport) -> io::Result<Option<Picture>> {
    let shown = &network.sizes[..network.sizes.len().min(CALLS_MAX)];
    let classes = || shown.iter().flat_map(|call| &call.classes);
    let numbers = || classes().map(|class| class_of(class.from_bytes));
    let (Some(first), Some(last)) = (numbers().min(), numbers().max()) else {
        return Ok(None);
    };
    let whole = HISTOGRAM * shown.len() as f64;
    let description = format!(
        "Number of messages by their length, in powers of two, for the {} of {} calls with most bytes; each has its own scale",
        shown.len(),
        network.sizes.len()
    );
    let mut picture = empty("sizes", "Sizes of messages", description, whole);
    let columns = f64::from(last - first + 1).max(4.0);
    let width = (AREA / columns).min(96.0);
    let mut bars = Shape::new("bar".to_owned());
    for (row, call) in shown.iter().enumerate() {
        let base = TOP + HISTOGRAM * (row + 1) as f64;
        histogram(&mut picture, &mut bars, (call, base), (first, width));
    }
    picture.shapes.push(bars);
    for class in (first..=last).step_by(stepping(76.0, width)) {
        let from = class
            .checked_sub(1)
            .map_or(0.0, |power| libm::exp2(f64::from(power)));
        let x = LEFT + width * f64::from(class - first);
        picture.text((x, TOP + whole + 14.0), "start", &bytes(from));
    }
    let header = ["call", "collective", "from_bytes", "messages", "bytes"];
    let rows = shown.iter().flat_map(|call| {
        call.classes.iter().map(|class| {
            vec![
                call.call.clone(),
                call.collective.to_string(),
                class.from_bytes.to_string(),
                class.messages.to_string(),
                class.bytes.to_string(),
            ]
        })
    });
    picture.set_data(std::iter::once(header.map(str::to_owned).to_vec()).chain(rows))?;
    Ok(Some(picture))
}

/// Draws the bars of a call above a base line.
fn histogram(
    picture: &mut Picture,
    bars: &mut Shape,
    (call, base): (&SizeHistogram, f64),
    (first, width): (u32, f64),
) {
    let most = call.classes.iter().map(|class| class.messages).max();
    let most = most.unwrap_or(0).max(1) as f64;
    let highest = HISTOGRAM - 22.0;
    for class in &call.classes {
        let x = LEFT + width * f64::from(class_of(class.from_bytes) - first);
        let height = (highest * class.messages as f64 / most).max(1.0);
        bars.rectangle((x + 1.0, base - height), (width - 2.0, height));
        let middle = x + width / 2.0;
        let count = class.messages.to_string();
        if width >= 40.0 {
            picture.text((middle, base - height - 4.0), "middle", &count);
        }
    }
    let mut line = Shape::new("frame".to_owned());
    line.rectangle((LEFT, base), (AREA, 0.0));
    picture.shapes.push(line);
    picture.text((LEFT - 6.0, base - 22.0), "end", &call.call);
    let sum = format!("{} messages", call.messages);
    picture.text((LEFT - 6.0, base - 6.0), "end", &sum);
}

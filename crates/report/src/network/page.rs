//! The network on a page of text.

use std::fmt;

use super::{LinkLoad, NetworkReport};

/// Links on the page.
const LINKS: usize = 3;

impl fmt::Display for NetworkReport {
    /// Writes the links that cause most delay, or have the most bytes if none causes any, with the
    /// pairs of ranks that use them, and the ranks with most unexpected messages; lines that end
    /// with a line feed.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hot = &self.hot;
        let delays = !hot.by_delay.is_empty();
        let links = if delays { &hot.by_delay } else { &hot.by_bytes };
        if !links.is_empty() {
            self.list_links(f, links, delays)?;
        }
        let most = self.unexpected.iter().max_by_key(|rank| rank.waiting_max);
        if let Some(most) = most {
            writeln!(
                f,
                "unexpected messages: {}; ranks with some: {}; at most {} wait at once, at rank {}",
                self.unexpected
                    .iter()
                    .map(|rank| rank.messages)
                    .sum::<u64>(),
                self.unexpected.len(),
                most.waiting_max,
                most.rank
            )?;
        }
        Ok(())
    }
}

impl NetworkReport {
    fn list_links(
        &self,
        f: &mut fmt::Formatter<'_>,
        links: &[LinkLoad],
        delays: bool,
    ) -> fmt::Result {
        let title = if delays {
            "links that delay most"
        } else {
            "links with most bytes; none delays a message"
        };
        writeln!(f, "{title}:")?;
        for link in links.iter().take(LINKS) {
            self.write_link(f, link)?;
        }
        if self.other_delay_s > 0.0 {
            let delay = format_seconds(self.other_delay_s);
            writeln!(f, "  no link: {delay} of delay by penalties of the model")?;
        }
        Ok(())
    }

    fn write_link(&self, f: &mut fmt::Formatter<'_>, link: &LinkLoad) -> fmt::Result {
        write!(
            f,
            "  {}: {}, {:.1}% used",
            link.name,
            bytes(link.bytes),
            100.0 * link.utilisation
        )?;
        if link.delay_s > 0.0 {
            write!(
                f,
                ", congested for {} of {}, delays its flows by {}",
                format_seconds(link.congested_s),
                format_seconds(self.end_s),
                format_seconds(link.delay_s)
            )?;
        }
        for (at, pair) in link.pairs.iter().enumerate() {
            let begin = if at == 0 { "; ranks " } else { ", " };
            let share = 100.0 * pair.bytes / link.bytes;
            let most = if pair.error_bytes > 0.0 {
                "at most "
            } else {
                ""
            };
            let (source, destination) = (pair.source, pair.destination);
            write!(f, "{begin}{source} to {destination} {most}{share:.1}%")?;
        }
        writeln!(f)
    }
}

/// Formats a time with a suitable unit.
fn format_seconds(time: f64) -> String {
    let (scale, unit) = match time {
        time if time >= 1.0 || time == 0.0 => (1.0, "s"),
        time if time >= 1e-3 => (1e3, "ms"),
        time if time >= 1e-6 => (1e6, "us"),
        _ => (1e9, "ns"),
    };
    format!("{:.3} {unit}", time * scale)
}

/// Formats a number of bytes with a suitable unit.
pub(crate) fn bytes(bytes: f64) -> String {
    let (scale, unit) = match bytes {
        bytes if bytes >= 1e9 => (1e9, "GB"),
        bytes if bytes >= 1e6 => (1e6, "MB"),
        bytes if bytes >= 1e3 => (1e3, "kB"),
        _ => return format!("{bytes} B"),
    };
    format!("{:.3} {unit}", bytes / scale)
}

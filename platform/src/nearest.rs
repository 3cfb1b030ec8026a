//! The known word that somebody probably meant: "did you mean …?".
//!
//! Distance is the number of letters to insert, delete or replace, where a letter in the wrong case counts half, so
//! that `gbps` is nearer to `Gbps` than to `kbps`. A word further away than a third of its length, and than two
//! letters, is not suggested. Of equally near words the first known one wins.

/// Words longer than this are never compared: the work grows with the product of the lengths.
const LENGTH_MAX: usize = 64;

/// At most this many words are compared, so that a file with very many names is not read for its suggestions alone.
const KNOWN_MAX: usize = 10_000;

/// The word of `known` nearest to `word`, if one is near enough to be worth suggesting.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let letters: Vec<char> = word.chars().take(LENGTH_MAX + 1).collect();
    if letters.is_empty() || letters.len() > LENGTH_MAX {
        return None;
    }
    let limit = 2 * (letters.len() / 3).max(2);
    let mut best: Option<(usize, &str)> = None;
    for candidate in known.into_iter().take(KNOWN_MAX) {
        if candidate.len() > LENGTH_MAX {
            continue;
        }
        let Some(distance) = half_edits(&letters, candidate, limit) else {
            continue;
        };
        if distance < 2 * letters.len() && best.is_none_or(|(least, _)| distance < least) {
            best = Some((distance, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

/// Twice the edit distance between two words if it is at most `limit`; a change of case costs 1.
fn half_edits(word: &[char], other: &str, limit: usize) -> Option<usize> {
    let other: Vec<char> = other.chars().collect();
    if 2 * word.len().abs_diff(other.len()) > limit {
        return None;
    }
    let mut row: Vec<usize> = (0..=other.len()).map(|column| 2 * column).collect();
    for (line, letter) in word.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = 2 * (line + 1);
        for (column, wanted) in other.iter().enumerate() {
            let replace = diagonal
                + match () {
                    () if letter == wanted => 0,
                    () if letter.eq_ignore_ascii_case(wanted) => 1,
                    () => 2,
                };
            diagonal = row[column + 1];
            row[column + 1] = replace.min(row[column] + 2).min(diagonal + 2);
        }
        // No entry of a later row is below the least one of this row.
        if row.iter().all(|edits| *edits > limit) {
            return None;
        }
    }
    Some(row[other.len()]).filter(|edits| *edits <= limit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_words_are_found_and_far_ones_are_not() {
        assert_eq!(
            nearest("bandwith", ["latency", "bandwidth"]),
            Some("bandwidth")
        );
        assert_eq!(nearest("gbps", ["kbps", "Gbps"]), Some("Gbps"));
        assert_eq!(nearest("color", ["bandwidth", "latency"]), None);
        assert_eq!(nearest("", ["s"]), None);
    }
}

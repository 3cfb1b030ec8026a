//! The known word that was probably meant: "did you mean …?".
//!
//! The nearest word has the fewest letters to insert, delete or replace. The case of letters
//! decides only between equally near words: `gbps` is nearer to `Gbps` than to `kbps`. A word is
//! not suggested if it needs more than two edits and more edits than a third of the length of the
//! given word. Of equally near words the first known word wins.

use strsim::levenshtein;

/// Words longer than this are never compared: the work grows with the product of the lengths.
const LENGTH_MAX: usize = 64;

/// The largest number of words that are compared, so that a file with very many names is not read
/// only for suggestions.
const KNOWN_MAX: usize = 10_000;

/// Returns the word of `known` nearest to `word`, if one is near enough to be worth suggesting.
pub(crate) fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    let length = word.chars().count();
    if length > LENGTH_MAX {
        return None;
    }
    let small = word.to_ascii_lowercase();
    let limit = (length / 3).max(2);
    let near = known.into_iter().take(KNOWN_MAX).filter_map(|candidate| {
        if candidate.len() > LENGTH_MAX {
            return None;
        }
        let edits = levenshtein(&small, &candidate.to_ascii_lowercase());
        let is_near = edits <= limit && edits < length;
        is_near.then(|| (edits, levenshtein(word, candidate), candidate))
    });
    let nearest = near.min_by_key(|(edits, exact, _)| (*edits, *exact));
    nearest.map(|(_, _, candidate)| candidate)
}

/// Returns the end of a message that suggests the word of `known` nearest to `word`; empty if none
/// is near.
#[must_use]
pub fn suggest_word<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> String {
    let near = nearest(word, known);
    near.map_or_else(String::new, |near| format!("; did you mean {near:?}?"))
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

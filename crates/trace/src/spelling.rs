//! Suggestions for misspelt words.

/// The nearest name, if at most a third of its letters differ. Ties go to the name that comes first in the alphabet.
pub fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let word = word.to_lowercase();
    let ranked = names.into_iter().map(|name| (edits(&word, &name.to_lowercase()), name));
    ranked.min().filter(|(distance, name)| *distance <= name.len() / 3).map(|(_, name)| name)
}

/// How many letters must be added, removed or replaced to turn one word into the other.
fn edits(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_near_name_is_suggested_and_a_far_one_is_not() {
        let names = ["limit", "gpu", "retry"];
        assert_eq!(nearest("limt", names), Some("limit"));
        assert_eq!(nearest("RETRY", names), Some("retry"));
        assert_eq!(nearest("colour", names), None);
        assert_eq!(nearest("gpus", names), Some("gpu"));
    }
}

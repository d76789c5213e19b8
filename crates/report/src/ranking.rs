//! Changes in the order they are shown: those that help, numbered, then those tried in vain.

/// At most `helping` of those that help, each with its rank from 1, then at most `fruitless` of the others.
pub(crate) fn ranked<T>(
    changes: &[T],
    helps: impl Fn(&T) -> bool,
    [helping, fruitless]: [usize; 2],
) -> Vec<(Option<usize>, &T)> {
    let good = changes.iter().filter(|change| helps(change)).take(helping);
    let vain = changes.iter().filter(|change| !helps(change)).take(fruitless);
    let good = good.enumerate().map(|(index, change)| (Some(index + 1), change));
    good.chain(vain.map(|change| (None, change))).collect()
}

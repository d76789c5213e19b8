//! Random numbers that nobody draws: PyTorch's generator on the host is put where it would be if it had drawn them.
//!
//! Weights that are not filled draw nothing, but what follows (the order of batches) hangs on where the generator is left.
//! It is a Mersenne Twister: word after word follows by a linear rule, so the words after n others are sums of words from
//! here on, and which is told by the polynomial x^n modulo the rule's own (Haramoto, Matsumoto and others, 2008).

use std::sync::OnceLock;

use crate::code::{Code, INVALID_VALUE, SUCCESS};

/// Words of a state.
const WORDS: usize = 624;
const MIDDLE: usize = 397;
/// Bits that a state really has: the degree of its polynomial.
const DEGREE: usize = 19_937;
/// Whoever skips fewer words than these goes through them.
const WALKED: u64 = 64 << 20;

/// The word that follows 624 others; of the first only the highest bit counts.
fn following(first: u32, second: u32, middle: u32) -> u32 {
    let mixed = (first & 0x8000_0000) | (second & 0x7fff_ffff);
    middle ^ (mixed >> 1) ^ if second & 1 == 1 { 0x9908_b0df } else { 0 }
}

/// The next 624 words in the place of these.
fn renew(state: &mut [u32; WORDS]) {
    for at in 0..WORDS {
        state[at] = following(state[at], state[(at + 1) % WORDS], state[(at + MIDDLE) % WORDS]);
    }
}

/// A polynomial whose coefficients are bits.
#[derive(Clone, Debug, PartialEq)]
struct Polynomial(Vec<u64>);

impl Polynomial {
    fn zero(degree: usize) -> Self {
        Self(vec![0; degree / 64 + 1])
    }

    fn has(&self, power: usize) -> bool {
        self.0[power / 64] >> (power % 64) & 1 == 1
    }

    /// Adds another, times x^`power`.
    fn add(&mut self, other: &Self, power: usize) {
        let (words, bits) = (power / 64, power % 64);
        for (at, word) in other.0.iter().enumerate().filter(|(_, word)| **word != 0) {
            self.0[at + words] ^= word << bits;
            let high = if bits == 0 { 0 } else { word >> (64 - bits) };
            if high != 0 {
                self.0[at + words + 1] ^= high;
            }
        }
    }
}

/// The rule's polynomial, found from what it makes (Berlekamp and Massey).
fn rule() -> &'static Polynomial {
    static RULE: OnceLock<Polynomial> = OnceLock::new();
    RULE.get_or_init(|| {
        let mut state = [1; WORDS];
        let mut bits: Vec<bool> = Vec::new();
        while bits.len() < 2 * DEGREE + WORDS {
            renew(&mut state);
            bits.extend(state.iter().map(|word| word & 1 == 1));
        }
        // What was seen so far, the last first, so that a sum over a rule is a sum of bitwise products.
        let size = 2 * DEGREE + 128;
        let mut seen = Polynomial::zero(size);
        let (mut current, mut before) = (Polynomial::zero(size), Polynomial::zero(size));
        (current.0[0], before.0[0]) = (1, 1);
        let (mut length, mut since) = (0, 1);
        for (at, bit) in bits[..2 * DEGREE].iter().enumerate() {
            let mut carry = u64::from(*bit);
            for word in &mut seen.0[..=at / 64 + 1] {
                let out = *word >> 63;
                *word = *word << 1 | carry;
                carry = out;
            }
            let odd = current.0[..=length / 64].iter().zip(&seen.0).map(|(one, other)| one & other);
            if odd.fold(0, |sum, word| sum ^ word).count_ones().is_multiple_of(2) {
                since += 1;
            } else if 2 * length <= at {
                let had = current.clone();
                current.add(&before, since);
                (length, before, since) = (at + 1 - length, had, 1);
            } else {
                current.add(&before, since);
                since += 1;
            }
        }
        // The rule reads from the newest word back; the polynomial from the oldest on.
        let mut found = Polynomial::zero(DEGREE);
        (0..=DEGREE)
            .filter(|power| current.has(DEGREE - power))
            .for_each(|power| found.0[power / 64] |= 1 << (power % 64));
        found
    })
}

/// x^`power` modulo the rule.
fn power_of_x(power: u64) -> Polynomial {
    let rule = rule();
    let mut found = Polynomial::zero(DEGREE);
    found.0[0] = 1;
    for bit in (0..64 - power.leading_zeros()).rev() {
        let mut squared = Polynomial::zero(2 * DEGREE + 64);
        // A square has every coefficient at twice its power; where the next bit is set, one x more.
        let more = usize::from(power >> bit & 1 == 1);
        for at in (0..DEGREE).filter(|at| found.has(*at)) {
            let to = 2 * at + more;
            squared.0[to / 64] ^= 1 << (to % 64);
        }
        for top in (DEGREE..2 * DEGREE).rev() {
            if squared.has(top) {
                squared.add(rule, top - DEGREE);
            }
        }
        squared.0.truncate(DEGREE / 64 + 1);
        found = squared;
    }
    found
}

/// Goes so many whole turns on.
fn turn(state: &mut [u32; WORDS], turns: u64) {
    if turns * WORDS as u64 <= WALKED {
        return (0..turns).for_each(|_| renew(state));
    }
    // The first turn is walked: 31 bits of the first word of a state belong to what was before it.
    renew(state);
    let coefficients = power_of_x((turns - 1) * WORDS as u64);
    let mut words = state.to_vec();
    for at in 0..DEGREE {
        words.push(following(words[at], words[at + 1], words[at + MIDDLE]));
    }
    *state = [0; WORDS];
    for power in (0..DEGREE).filter(|power| coefficients.has(*power)) {
        for (sum, word) in state.iter_mut().zip(&words[power..]) {
            *sum ^= word;
        }
    }
}

/// Where words lie in the state of a generator, as PyTorch gives it: the number of words that are left, one more than that;
/// the place of the next; and the words, each in eight bytes.
const LEFT: usize = 8;
const NEXT: usize = 16;
const FIRST: usize = 24;
const BYTES: usize = FIRST + 8 * WORDS;

/// Moves a state of PyTorch's generator on by so many numbers of 32 bits.
fn skip(bytes: &mut [u8; BYTES], count: u64) -> Option<()> {
    let number = |bytes: &[u8; BYTES], at: usize| {
        bytes.get(at..at + 4).and_then(|part| part.try_into().ok()).map(u32::from_ne_bytes)
    };
    let left = u64::from(number(bytes, LEFT)?.checked_sub(1)?);
    if left >= WORDS as u64 {
        return None;
    }
    let (left, next) = if count <= left {
        (left - count, u64::from(number(bytes, NEXT)?) + count)
    } else {
        let mut state = [0; WORDS];
        for (at, word) in state.iter_mut().enumerate() {
            *word = number(bytes, FIRST + 8 * at)?;
        }
        let turns = (count - left).div_ceil(WORDS as u64);
        let used = count - left - (turns - 1) * WORDS as u64;
        turn(&mut state, turns);
        for (at, word) in state.iter().enumerate() {
            bytes[FIRST + 8 * at..][..8].copy_from_slice(&u64::from(*word).to_ne_bytes());
        }
        (WORDS as u64 - used, used)
    };
    bytes[LEFT..][..4].copy_from_slice(&u32::try_from(left + 1).ok()?.to_ne_bytes());
    bytes[NEXT..][..8].copy_from_slice(&next.to_ne_bytes());
    Some(())
}

/// Moves the state of a generator, as `torch.Generator.get_state()` gives it, on by so many numbers of 32 bits.
///
/// # Safety
/// `state` points to as many bytes as `length` says, which the caller owns.
#[unsafe(no_mangle)]
pub(crate) unsafe extern "C" fn oomph_phantom_skip(state: *mut u8, length: usize, count: u64) -> Code {
    if state.is_null() || length < BYTES {
        return INVALID_VALUE;
    }
    // SAFETY: not null, at least so long, and the caller's own.
    let bytes = unsafe { &mut *state.cast::<[u8; BYTES]>() };
    skip(bytes, count).map_or(INVALID_VALUE, |()| SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The state of a generator with this seed.
    fn seeded(seed: u32) -> [u32; WORDS] {
        let mut state = [seed; WORDS];
        for at in 1..WORDS {
            let before = state[at - 1];
            state[at] = 1_812_433_253_u32.wrapping_mul(before ^ (before >> 30)).wrapping_add(at as u32);
        }
        state
    }

    #[test]
    fn the_rule_is_that_of_the_generator() {
        let rule = rule();
        assert!(rule.has(DEGREE) && rule.has(0));
        // Known of this generator: so many terms are not zero.
        assert_eq!(rule.0.iter().map(|word| word.count_ones()).sum::<u32>(), 135);
    }

    #[test]
    fn a_jump_ends_where_a_walk_does() {
        let turns = WALKED / WORDS as u64 + 3;
        let (mut jumped, mut walked) = (seeded(5), seeded(5));
        turn(&mut jumped, turns);
        (0..turns).for_each(|_| renew(&mut walked));
        assert!(jumped == walked);
    }

    #[test]
    fn numbers_are_counted_through_the_ends_of_turns() {
        let state = |left: u32, next: u64| {
            let mut bytes = [0; BYTES];
            bytes[LEFT..][..4].copy_from_slice(&left.to_ne_bytes());
            bytes[NEXT..][..8].copy_from_slice(&next.to_ne_bytes());
            for (at, word) in seeded(7).iter().enumerate() {
                bytes[FIRST + 8 * at..][..8].copy_from_slice(&u64::from(*word).to_ne_bytes());
            }
            bytes
        };
        let at = |bytes: &[u8; BYTES]| {
            (bytes[LEFT..][0], u64::from_ne_bytes(bytes[NEXT..][..8].try_into().expect("eight bytes")))
        };
        let mut within = state(11, 614);
        assert_eq!(skip(&mut within, 10), Some(()));
        assert_eq!((at(&within), within[FIRST..] == state(0, 0)[FIRST..]), ((1, 624), true));
        // One after another or all at once: the same.
        let mut all = state(11, 614);
        assert_eq!(skip(&mut all, 2000), Some(()));
        let mut each = state(11, 614);
        (0..2000).for_each(|_| assert_eq!(skip(&mut each, 1), Some(())));
        assert_eq!(all, each);
        assert_eq!(skip(&mut state(0, 0), 1), None);
    }
}

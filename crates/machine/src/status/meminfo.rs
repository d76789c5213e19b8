//! The machine's RAM, from `/proc/meminfo`.

use std::fs;
use std::path::Path;

use oomph_diagnose::results::status::Ram;
use oomph_trace::Bytes;

/// The machine's RAM; `None` where the file cannot be read.
pub fn read(proc: &Path) -> Option<Ram> {
    parse(&fs::read_to_string(proc.join("meminfo")).ok()?)
}

/// Reads the file's text. Kernels before 3.14 do not say what is available: what is free and cached stands for it.
pub fn parse(text: &str) -> Option<Ram> {
    let field = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
        let kib: u64 = line.split_whitespace().next()?.parse().ok()?;
        kib.checked_mul(1024).map(Bytes)
    };
    let available = field("MemAvailable").or_else(|| {
        let cached = [field("Buffers"), field("Cached")].into_iter().flatten().sum::<Bytes>();
        field("MemFree").map(|free| free + cached)
    });
    Some(Ram {
        total: field("MemTotal")?,
        available: available?,
        swap_total: field("SwapTotal").unwrap_or_default(),
        swap_free: field("SwapFree").unwrap_or_default(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read_or_made_of_what_old_kernels_say() {
        let ram = |available| {
            Some(Ram {
                total: Bytes::mib(100),
                available,
                swap_total: Bytes::mib(8),
                swap_free: Bytes::mib(4),
            })
        };
        let swap = "SwapTotal:    8192 kB\nSwapFree:     4096 kB\n";
        let new = format!("MemTotal:     102400 kB\nMemFree: 10240 kB\nMemAvailable:  51200 kB\n{swap}");
        assert_eq!(parse(&new), ram(Bytes::mib(50)));
        let old = format!(
            "MemTotal: 102400 kB\nMemFree: 10240 kB\nBuffers: 1024 kB\nCached: 2048 kB\nSwapCached: 9 kB\n{swap}"
        );
        assert_eq!(parse(&old), ram(Bytes::mib(13)));
    }

    #[test]
    fn a_text_that_is_no_meminfo_gives_nothing() {
        for text in ["", "MemTotal: many kB\n", "MemTotal: 5 kB\n", "MemTotal: 99999999999999999999 kB\n"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}

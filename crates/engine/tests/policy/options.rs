//! What options change.

use expect_test::expect;
use oomph_testkit::script::On;
use oomph_trace::Bytes;

use super::{check_on, mib};

#[test]
fn max_split_size_keeps_oversized_blocks_from_smaller_requests() {
    check_on(
        &On::torch(11).conf("max_split_size_mb:64"),
        "a = alloc 100MiB; free a; b = alloc 50MiB",
        expect![[r#"
            large s0 100MiB: [free 100MiB]
            large s0 50MiB: [b 50MiB]"#]],
    );
}

#[test]
fn an_oversized_block_serves_only_requests_less_than_20_mib_smaller_and_whole() {
    let on = On::torch(11).conf("max_split_size_mb:64");
    check_on(
        &on,
        "a = alloc 100MiB; free a; b = alloc 80MiB",
        expect![[r#"
            large s0 100MiB: [free 100MiB]
            large s0 80MiB: [b 80MiB]"#]],
    );
    check_on(
        &on,
        "a = alloc 100MiB; free a; b = alloc 82MiB",
        expect!["large s0 100MiB: [b 100MiB for 82MiB]"],
    );
}

#[test]
fn max_non_split_rounding_widens_what_an_oversized_block_may_serve() {
    check_on(
        &On::torch(11).conf("max_split_size_mb:64,max_non_split_rounding_mb:64"),
        "a = alloc 100MiB; free a; b = alloc 64MiB",
        expect!["large s0 100MiB: [b 100MiB for 64MiB]"],
    );
}

#[test]
fn with_max_split_size_20_a_whole_medium_segment_is_never_used_again() {
    // The segment is 20 MiB, so as a whole it counts as oversized; only its rest, while split, does not.
    check_on(
        &On::torch(11).conf("max_split_size_mb:20"),
        "a b = alloc 3MiB; free a b; c = alloc 3MiB",
        expect![[r#"
            large s0 20MiB: [free 20MiB]
            large s0 20MiB: [c 3MiB] [free 17MiB]"#]],
    );
}

#[test]
fn divisions_round_up_to_steps_between_powers_of_two() {
    check_on(
        &On::torch(11).conf("roundup_power2_divisions:4"),
        "a = alloc 5243392; b = alloc 1200; c = alloc 2000",
        expect![[r#"
            large s0 20MiB: [a 6MiB for 5243392] [free 14MiB]
            small s0 2MiB: [b 1536 for 1200] [c 2KiB for 2000] [free 2093568]"#]],
    );
}

#[test]
fn a_key_of_divisions_names_the_power_of_two_below_the_request() {
    check_on(
        &On::torch(11).conf("roundup_power2_divisions:[256:1,512:2,1024:4,>:8]"),
        "a = alloc 300MiB; b = alloc 600MiB; c = alloc 1100MiB; d = alloc 2100MiB",
        expect![[r#"
            large s0 300MiB: [a 300MiB]
            large s0 768MiB: [b 768MiB for 600MiB]
            large s0 1280MiB: [c 1280MiB for 1100MiB]
            large s0 2304MiB: [d 2304MiB for 2100MiB]"#]],
    );
}

#[test]
fn one_division_left_a_size_unrounded_before_2_4() {
    let conf = "roundup_power2_divisions:1";
    check_on(
        &On::torch(3).conf(conf),
        "a = alloc 1000; b = alloc 512",
        expect!["small s0 2MiB: [a 1000] [b 512] [free 2095640]"],
    );
    check_on(
        &On::torch(4).conf(conf),
        "a = alloc 1000; b = alloc 512",
        expect!["small s0 2MiB: [a 1KiB for 1000] [b 512] [free 2095616]"],
    );
}

#[test]
fn large_segment_size_is_the_segment_of_medium_requests_and_the_page_of_large_ones() {
    let conf = "large_segment_size_mb:32";
    check_on(&On::torch(11).conf(conf), "a = alloc 3MiB", expect!["large s0 32MiB: [a 3MiB] [free 29MiB]"]);
    check_on(
        &On::torch(11).conf(&format!("{conf},expandable_segments:True")),
        "a = alloc 40MiB; b = alloc 1KiB",
        expect![[r#"
            large s0 64MiB expandable: [a 40MiB] [free 24MiB]
            small s0 2MiB expandable: [b 1KiB] [free 2047KiB]"#]],
    );
}

#[test]
fn throw_on_cudamalloc_oom_fails_at_once_and_keeps_the_cache() {
    let on = On::torch(12).total(mib(100)).capacity(mib(100));
    let script = "a = alloc 60MiB; free a; b = alloc 70MiB";
    check_on(&on, script, expect!["large s0 70MiB: [b 70MiB]"]);
    check_on(
        &on.conf("throw_on_cudamalloc_oom:True"),
        script,
        expect![[r#"
            b: out of memory
            large s0 60MiB: [free 60MiB]"#]],
    );
}

#[test]
fn throw_on_cudamalloc_oom_is_not_reached_where_the_limit_refuses_first() {
    // `alloc_block` checks the limit before the option: the request is refused the ordinary way, which releases.
    check_on(
        &On::torch(12).total(mib(100)).conf("per_process_memory_fraction:0.5,throw_on_cudamalloc_oom:True"),
        "a = alloc 30MiB; free a; b = alloc 40MiB",
        expect!["large s0 40MiB: [b 40MiB]"],
    );
}

#[test]
fn throw_on_cudamalloc_oom_asks_nothing_of_the_driver() {
    // The check comes before the mapping, so the hole of `b` is not mapped again.
    check_on(
        &On::torch(12)
            .total(mib(70))
            .capacity(mib(70))
            .conf("expandable_segments:True,throw_on_cudamalloc_oom:True"),
        "a b c = alloc 20MiB; free b; empty_cache; free c; driver; d = alloc 55MiB; driver",
        expect![[r#"
            map 20MiB, map 20MiB, map 20MiB, unmap 20MiB
            d: out of memory
            no calls
            large s0 20MiB expandable: [a 20MiB]
            large s0 20MiB expandable: [free 20MiB]"#]],
    );
}

#[test]
fn a_fraction_of_the_device_is_a_limit_truncated_before_2_13_and_rounded_since() {
    // Half of 41943039 bytes is 20971519.5: one byte too little for a segment of 20 MiB, unless it is rounded.
    let half = |minor| On::torch(minor).total(Bytes(41_943_039)).conf("per_process_memory_fraction:0.5");
    check_on(
        &half(12),
        "a = alloc 3MiB",
        expect![[r#"
            a: out of memory
            nothing"#]],
    );
    check_on(&half(13), "a = alloc 3MiB", expect!["large s0 20MiB: [a 3MiB] [free 17MiB]"]);
}

#[test]
fn an_absurd_request_fails_with_divisions_too() {
    check_on(
        &On::torch(11).conf("roundup_power2_divisions:4"),
        "a = alloc 18446744073709551615",
        expect![[r#"
            a: out of memory
            nothing"#]],
    );
}

//! Rounding, segments, splitting, merging, streams: where a request goes.

use expect_test::expect;
use oomph_testkit::script::On;

use super::{check, check_on};

#[test]
fn a_medium_request_takes_a_segment_of_20_mib_and_leaves_the_rest_free() {
    check("a = alloc 3MiB", expect!["large s0 20MiB: [a 3MiB] [free 17MiB]"]);
}

#[test]
fn requests_are_rounded_up_to_512_bytes() {
    check(
        "a = alloc 1; b = alloc 512; c = alloc 513; d = alloc 1000",
        expect!["small s0 2MiB: [a 512 for 1] [b 512] [c 1KiB for 513] [d 1KiB for 1000] [free 2045KiB]"],
    );
}

#[test]
fn segments_come_in_three_classes_chosen_by_the_rounded_size() {
    check(
        "a = alloc 1MiB
         b = alloc 1048577 on s1
         c = alloc 10239KiB on s2
         d = alloc 10485759 on s3
         e = alloc 11MiB on s4",
        expect![[r#"
            small s0 2MiB: [a 1MiB] [free 1MiB]
            large s1 20MiB: [b 1049088 for 1048577] [free 19922432]
            large s2 20MiB: [c 10239KiB] [free 10241KiB]
            large s3 10MiB: [d 10MiB for 10485759]
            large s4 12MiB: [e 12MiB for 11MiB]"#]],
    );
}

#[test]
fn the_smallest_block_that_fits_is_taken() {
    check(
        "a = alloc 4MiB; b = alloc 5MiB; c = alloc 3MiB; d = alloc 8MiB; free a; free c; e = alloc 3MiB",
        expect!["large s0 20MiB: [free 4MiB] [b 5MiB] [e 3MiB] [d 8MiB]"],
    );
}

#[test]
fn a_large_block_keeps_a_rest_of_up_to_1_mib() {
    check(
        "a = alloc 3MiB; b = alloc 9MiB; c = alloc 8MiB; free a; e = alloc 2MiB",
        expect!["large s0 20MiB: [e 3MiB for 2MiB] [b 9MiB] [c 8MiB]"],
    );
    check(
        "a = alloc 3MiB; b = alloc 9MiB; c = alloc 8MiB; free a; e = alloc 2096640",
        expect!["large s0 20MiB: [e 2096640] [free 1049088] [b 9MiB] [c 8MiB]"],
    );
}

#[test]
fn a_small_block_is_cut_to_the_last_512_bytes() {
    check("a = alloc 1MiB; b = alloc 1048064", expect!["small s0 2MiB: [a 1MiB] [b 1048064] [free 512]"]);
}

#[test]
fn a_free_block_merges_with_its_free_neighbours() {
    check(
        "a b c = alloc 2MiB; draw; free b; draw; free a; draw; free c",
        expect![[r#"
            large s0 20MiB: [a 2MiB] [b 2MiB] [c 2MiB] [free 14MiB]
            large s0 20MiB: [a 2MiB] [free 2MiB] [c 2MiB] [free 14MiB]
            large s0 20MiB: [free 4MiB] [c 2MiB] [free 14MiB]
            large s0 20MiB: [free 20MiB]"#]],
    );
}

#[test]
fn streams_do_not_share_their_cache() {
    check(
        "a = alloc 3MiB; free a; b = alloc 3MiB on s1",
        expect![[r#"
            large s0 20MiB: [free 20MiB]
            large s1 20MiB: [b 3MiB] [free 17MiB]"#]],
    );
}

#[test]
fn small_requests_do_not_use_large_segments() {
    check(
        "a = alloc 3MiB; free a; b = alloc 1KiB",
        expect![[r#"
            large s0 20MiB: [free 20MiB]
            small s0 2MiB: [b 1KiB] [free 2047KiB]"#]],
    );
}

#[test]
fn a_pending_free_is_active_but_not_allocated_and_serves_nobody() {
    check(
        "a = alloc 3MiB; free a later; counters; b = alloc 3MiB; draw; complete a",
        expect![[r#"
            requested 3MiB, allocated 0, active 3MiB, reserved 20MiB
            large s0 20MiB: [a 3MiB pending] [b 3MiB] [free 14MiB]
            large s0 20MiB: [free 3MiB] [b 3MiB] [free 14MiB]"#]],
    );
}

#[test]
fn a_pending_free_is_not_merged_with() {
    check(
        "a b = alloc 3MiB; free a later; free b; draw; complete a",
        expect![[r#"
            large s0 20MiB: [a 3MiB pending] [free 17MiB]
            large s0 20MiB: [free 20MiB]"#]],
    );
}

/// `g` lies below `d`, but its block object was made later.
const TIE_IN_ONE_SEGMENT: &str =
    "a b c d e = alloc 4MiB; free a b; g h = alloc 4MiB; free g d; f = alloc 4MiB";

#[test]
fn equal_blocks_of_one_segment_go_by_address_except_in_2_12_by_the_age_of_the_block() {
    for minor in [11, 13] {
        check_on(
            &On::torch(minor),
            TIE_IN_ONE_SEGMENT,
            expect!["large s0 20MiB: [f 4MiB] [h 4MiB] [c 4MiB] [free 4MiB] [e 4MiB]"],
        );
    }
    check_on(
        &On::torch(12),
        TIE_IN_ONE_SEGMENT,
        expect!["large s0 20MiB: [free 4MiB] [h 4MiB] [c 4MiB] [f 4MiB] [e 4MiB]"],
    );
}

#[test]
fn equal_blocks_of_two_segments_go_by_address_up_to_2_11_and_then_by_age() {
    // The simulated driver puts the second segment below the first.
    let script = "a b = alloc 20MiB; free a b; c = alloc 20MiB";
    check_on(
        &On::torch(11),
        script,
        expect![[r#"
            large s0 20MiB: [free 20MiB]
            large s0 20MiB: [c 20MiB]"#]],
    );
    for minor in [12, 13] {
        check_on(
            &On::torch(minor),
            script,
            expect![[r#"
                large s0 20MiB: [c 20MiB]
                large s0 20MiB: [free 20MiB]"#]],
        );
    }
}

#[test]
fn a_request_for_nothing_takes_the_smallest_block() {
    // PyTorch answers it before the allocator is asked and records nothing, so no recording has one.
    check("a = alloc 0", expect!["small s0 2MiB: [a 512 for 0] [free 2096640]"]);
}

#[test]
fn an_absurd_request_fails_and_leaves_the_cache_alone() {
    for size in [1u64 << 60, u64::MAX] {
        check(
            &format!("a = alloc 3MiB; free a; b = alloc {size}"),
            expect![[r#"
                b: out of memory
                large s0 20MiB: [free 20MiB]"#]],
        );
    }
}

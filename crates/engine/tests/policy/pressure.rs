//! Limits, releases, garbage collection, and pools: what happens when memory is short.

use expect_test::expect;
use oomph_testkit::script::On;

use super::{check, check_on, mib};

#[test]
fn under_pressure_one_sufficient_oversized_block_goes_before_the_rest_of_the_cache() {
    check_on(
        &On::torch(11).conf("max_split_size_mb:64").limit(mib(300)),
        "a = alloc 100MiB; b = alloc 120MiB; c = alloc 5MiB; free a b c; driver; d = alloc 70MiB; driver; tally",
        expect![[r#"
            malloc 100MiB, malloc 120MiB, malloc 20MiB
            free 100MiB, malloc 70MiB
            retries 0, ooms 0, grows 4, shrinks 1
            large s0 120MiB: [free 120MiB]
            large s0 20MiB: [free 20MiB]
            large s0 70MiB: [d 70MiB]"#]],
    );
}

#[test]
fn under_pressure_oversized_blocks_go_largest_first_until_they_add_up() {
    check_on(
        &On::torch(11).conf("max_split_size_mb:64").limit(mib(250)),
        "a = alloc 70MiB; b = alloc 80MiB; c = alloc 90MiB; free a b c; driver; d = alloc 140MiB; driver; tally",
        expect![[r#"
            malloc 70MiB, malloc 80MiB, malloc 90MiB
            free 90MiB, free 80MiB, malloc 140MiB
            retries 0, ooms 0, grows 4, shrinks 2
            large s0 70MiB: [free 70MiB]
            large s0 140MiB: [d 140MiB]"#]],
    );
}

#[test]
fn oversized_blocks_that_do_not_add_up_are_released_all_the_same_and_then_the_cache() {
    check_on(
        &On::torch(11).conf("max_split_size_mb:64").limit(mib(250)),
        "a = alloc 70MiB; b = alloc 5MiB; c = alloc 150MiB; free a b; driver; d = alloc 90MiB; driver; tally",
        expect![[r#"
            malloc 70MiB, malloc 20MiB, malloc 150MiB
            free 70MiB, free 20MiB, malloc 90MiB
            retries 1, ooms 0, grows 4, shrinks 2
            large s0 150MiB: [c 150MiB]
            large s0 90MiB: [d 90MiB]"#]],
    );
}

const GARBAGE: &str =
    "a = alloc 40MiB; b = alloc 30MiB; free a; c = alloc 60MiB; free b; driver; d = alloc 70MiB; driver";

#[test]
fn garbage_collection_releases_the_oldest_cached_segments_beyond_its_threshold() {
    // Held 130, threshold 100: at least 30 must go. `a` is 2 searches old, `b` 1, the average 1.5.
    check_on(
        &On::torch(11).conf("garbage_collection_threshold:0.5").limit(mib(200)),
        &format!("{GARBAGE}; tally"),
        expect![[r#"
            malloc 40MiB, malloc 30MiB, malloc 60MiB
            free 40MiB, malloc 70MiB
            retries 0, ooms 0, grows 4, shrinks 1
            large s0 30MiB: [free 30MiB]
            large s0 60MiB: [c 60MiB]
            large s0 70MiB: [d 70MiB]"#]],
    );
}

#[test]
fn garbage_collection_goes_on_to_younger_segments_until_enough_is_released() {
    // Held 130, threshold 80: 50 must go; the first pass frees 40, the second the rest.
    check_on(
        &On::torch(11).conf("garbage_collection_threshold:0.4").limit(mib(200)),
        GARBAGE,
        expect![[r#"
            malloc 40MiB, malloc 30MiB, malloc 60MiB
            free 40MiB, free 30MiB, malloc 70MiB
            large s0 60MiB: [c 60MiB]
            large s0 70MiB: [d 70MiB]"#]],
    );
}

#[test]
fn garbage_collection_needs_a_limit() {
    check_on(
        &On::torch(11).conf("garbage_collection_threshold:0.1"),
        GARBAGE,
        expect![[r#"
            malloc 40MiB, malloc 30MiB, malloc 60MiB
            malloc 70MiB
            large s0 40MiB: [free 40MiB]
            large s0 30MiB: [free 30MiB]
            large s0 60MiB: [c 60MiB]
            large s0 70MiB: [d 70MiB]"#]],
    );
}

#[test]
fn the_cache_is_released_large_before_small_each_in_the_order_of_its_set() {
    check(
        "a = alloc 1KiB; b = alloc 12MiB; c = alloc 3MiB; d = alloc 14MiB on s1; free a b c d; driver
         empty_cache; driver",
        expect![[r#"
            malloc 2MiB, malloc 12MiB, malloc 20MiB, malloc 14MiB
            free 12MiB, free 20MiB, free 14MiB, free 2MiB
            nothing"#]],
    );
}

#[test]
fn only_whole_segments_are_released() {
    check(
        "a b = alloc 3MiB; c = alloc 12MiB; free b c; empty_cache",
        expect!["large s0 20MiB: [a 3MiB] [free 17MiB]"],
    );
}

#[test]
fn a_request_beyond_the_limit_drops_the_cache_and_asks_once_more() {
    check_on(
        &On::torch(11).limit(mib(60)),
        "a = alloc 30MiB; free a; b = alloc 40MiB; driver; tally; c = alloc 40MiB",
        expect![[r#"
            malloc 30MiB, free 30MiB, malloc 40MiB
            retries 1, ooms 0, grows 2, shrinks 1
            c: out of memory
            large s0 40MiB: [b 40MiB]"#]],
    );
}

#[test]
fn the_cache_is_not_searched_again_after_a_release() {
    // The release completes `a`, which would now do; `e` fails all the same, the next request finds it.
    check_on(
        &On::torch(11).limit(mib(20)),
        "a b c d = alloc 5MiB; free a later; e = alloc 5MiB; draw; f = alloc 5MiB",
        expect![[r#"
            e: out of memory
            large s0 20MiB: [free 5MiB] [b 5MiB] [c 5MiB] [d 5MiB]
            large s0 20MiB: [f 5MiB] [b 5MiB] [c 5MiB] [d 5MiB]"#]],
    );
}

#[test]
fn a_private_pool_shares_nothing_and_is_released_only_when_abandoned() {
    check(
        "a = alloc 3MiB in p1; free a; b = alloc 3MiB; free b; empty_cache; draw; abandon p1; empty_cache",
        expect![[r#"
            large p1 s0 20MiB: [free 20MiB]
            nothing"#]],
    );
}

#[test]
fn abandoned_pools_are_released_after_the_default_ones_and_small_first() {
    check(
        "a = alloc 3MiB in p1; b = alloc 1KiB in p1; c = alloc 1KiB; d = alloc 12MiB; free a b c d; abandon p1; driver
         empty_cache; driver",
        expect![[r#"
            malloc 20MiB, malloc 2MiB, malloc 2MiB, malloc 12MiB
            free 12MiB, free 2MiB, free 2MiB, free 20MiB
            nothing"#]],
    );
}

#[test]
fn a_capture_does_not_release_the_cache_but_a_mem_pool_scope_does() {
    let on = On::torch(13).limit(mib(40));
    check_on(
        &on,
        "a = alloc 30MiB; free a; b = alloc 30MiB in p1; tally",
        expect![[r#"
            b: out of memory
            retries 0, ooms 1, grows 1, shrinks 0
            large s0 30MiB: [free 30MiB]"#]],
    );
    check_on(
        &on,
        "a = alloc 30MiB; free a; b = alloc 30MiB in m1; tally",
        expect![[r#"
            retries 1, ooms 0, grows 2, shrinks 1
            large m1 s0 30MiB: [b 30MiB]"#]],
    );
}

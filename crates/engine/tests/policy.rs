//! What PyTorch's allocator does, drawn as text. Each expectation follows from the allocator's source by hand; the
//! names are the claims.

use expect_test::{Expect, expect};
use oomph_testkit::script::On;
use oomph_trace::Bytes;

fn check(script: &str, expected: Expect) {
    check_on(&On::torch(11), script, expected);
}

#[expect(clippy::needless_pass_by_value, reason = "so that a call reads `expect![…]`")]
fn check_on(on: &On, script: &str, expected: Expect) {
    match on.draw(script) {
        Ok(drawn) => expected.assert_eq(&drawn),
        Err(problem) => panic!("{problem}"),
    }
}

fn mib(n: u64) -> Bytes {
    Bytes::mib(n)
}

fn expandable() -> On {
    On::torch(11).conf("expandable_segments:True")
}

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
fn an_expandable_segment_maps_pages_and_grows_in_place() {
    check_on(
        &expandable(),
        "a = alloc 3MiB; draw; b = alloc 30MiB; c = alloc 1KiB; driver",
        expect![[r#"
            large s0 20MiB expandable: [a 3MiB] [free 17MiB]
            map 20MiB, map 20MiB, map 2MiB
            large s0 40MiB expandable: [a 3MiB] [b 30MiB] [free 7MiB]
            small s0 2MiB expandable: [c 1KiB] [free 2047KiB]"#]],
    );
}

#[test]
fn expandable_blocks_are_cut_exactly() {
    check_on(
        &expandable(),
        "a = alloc 20971008",
        expect!["large s0 20MiB expandable: [a 20971008] [free 512]"],
    );
}

#[test]
fn only_whole_pages_are_unmapped_and_their_holes_are_mapped_again() {
    check_on(
        &expandable(),
        "a = alloc 3MiB; b = alloc 50MiB; c = alloc 3MiB; free b; driver
         empty_cache; driver; draw; d = alloc 20MiB; driver",
        expect![[r#"
            map 20MiB, map 40MiB
            unmap 20MiB
            large s0 20MiB expandable: [a 3MiB] [free 17MiB]
            large s0 20MiB expandable: [free 13MiB] [c 3MiB] [free 4MiB]
            map 20MiB
            large s0 60MiB expandable: [a 3MiB] [d 20MiB] [free 30MiB] [c 3MiB] [free 4MiB]"#]],
    );
}

#[test]
fn an_empty_expandable_segment_is_given_up() {
    check_on(&expandable(), "a = alloc 3MiB; free a; empty_cache", expect!["nothing"]);
}

#[test]
fn an_expandable_block_that_could_grow_far_is_spared() {
    // The free 5 MiB at the end could grow; the 30 MiB hole could not, so it counts as the better fit.
    check_on(
        &expandable(),
        "a = alloc 30MiB; b = alloc 5MiB; free a; c = alloc 4MiB",
        expect!["large s0 40MiB expandable: [c 4MiB] [free 26MiB] [b 5MiB] [free 5MiB]"],
    );
}

#[test]
fn what_was_mapped_before_the_device_ran_full_stays_cached_until_it_is_released() {
    // The hole of `b` is mapped again (20 MiB), the page above `c` finds no room; the release then takes both back.
    check_on(
        &expandable().capacity(mib(70)),
        "a b c = alloc 20MiB; free b; empty_cache; free c; driver; d = alloc 55MiB; driver; tally",
        expect![[r#"
            map 20MiB, map 20MiB, map 20MiB, unmap 20MiB
            d: out of memory
            map 20MiB, unmap 40MiB
            retries 1, ooms 1, grows 4, shrinks 2
            large s0 20MiB expandable: [a 20MiB]"#]],
    );
}

#[test]
fn the_limit_counts_the_segment_asked_for_even_where_less_would_be_mapped() {
    // 20 held + 30 asked for > 45, although one page of 20 would do.
    check_on(
        &expandable().limit(mib(45)),
        "a = alloc 3MiB; b = alloc 30MiB",
        expect![[r#"
            b: out of memory
            large s0 20MiB expandable: [a 3MiB] [free 17MiB]"#]],
    );
    // 20 held + 10 asked for ≤ 30, although a page of 20 is mapped for it.
    check_on(
        &expandable().limit(mib(30)),
        "a = alloc 12MiB; b = alloc 10MiB",
        expect!["large s0 40MiB expandable: [a 12MiB] [b 10MiB] [free 18MiB]"],
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
fn a_request_beyond_the_reserved_address_space_fails_and_others_reserve_more() {
    let on = On::torch(15).conf("expandable_segments:True,expandable_segments_reserve:40M");
    check_on(
        &on,
        "a = alloc 60MiB; tally",
        expect![[r#"
            a: out of memory
            retries 1, ooms 1, grows 0, shrinks 0
            nothing"#]],
    );
    check_on(
        &on,
        "a = alloc 40MiB; b = alloc 20MiB",
        expect![[r#"
            large s0 40MiB expandable: [a 40MiB]
            large s0 20MiB expandable: [b 20MiB]"#]],
    );
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

//! Expandable segments.

use expect_test::expect;
use oomph_testkit::script::On;

use super::{check_on, expandable, mib};

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

//! What snapshots of all versions and writers mean.

use std::io::Write;

use crate::*;

const ADDR: i128 = 0x7f00_0000_0000;

fn segment<const N: usize>(device: i128, address: i128, blocks: V, more: [(&str, V); N]) -> V {
    let mut items = vec![
        (text("device"), V::Int(device)),
        (text("address"), V::Int(address)),
        (text("total_size"), V::Int(2 << 20)),
        (text("stream"), V::Int(0)),
        (text("segment_type"), text("small")),
        (text("blocks"), blocks),
    ];
    items.extend(more.into_iter().map(|(key, value)| (text(key), value)));
    V::Dict(items)
}

#[test]
fn events_share_their_stacks_whoever_wrote_them() {
    let events = list([
        event("alloc", ADDR, 500, [("frames", frames(1, [10, 20]))]),
        event("free_requested", ADDR, 500, [("frames", frames(2, [10, 20]))]),
        event("free_completed", ADDR, 500, [("frames", frames(2, [10, 20]))]),
        event("alloc", ADDR + 512, 1 << 40, [("frames", frames(3, [30]))]),
        event("segment_map", ADDR, 0, [("frames", list([]))]),
        event("oom", 123_456_789, 20 << 20, []),
    ]);
    check(
        &snapshot(events.clone(), list([])),
        "
        device 0
          alloc 0x7f0000000000 500 s0 t1700000000000000 < a.py:10:f3 < a.py:20:f6
          free_requested 0x7f0000000000 500 s0 t1700000000000000 < a.py:10:f3 < a.py:20:f6
          free_completed 0x7f0000000000 500 s0 t1700000000000000 < a.py:10:f3 < a.py:20:f6
          alloc 0x7f0000000200 1099511627776 s0 t1700000000000000 < a.py:30:f2
          segment_map 0x7f0000000000 0 s0 t1700000000000000
          oom 0x75bcd15 20971520 s0 t1700000000000000
        fields: time_us compile_context user_metadata",
    );
    for writer in WRITERS {
        let read = read_snapshot(&pickle(&snapshot(events.clone(), list([])), writer)[..]).unwrap();
        let stacks: Vec<_> = read.traces[0].events.iter().map(|event| event.stack).collect();
        assert_eq!(stacks[0], stacks[1], "{writer:?}");
        assert_eq!(stacks[1], stacks[2], "{writer:?}");
        assert_ne!(stacks[2], stacks[3], "{writer:?}");
    }
}

#[test]
fn equal_frames_are_one_even_where_their_dicts_are_not() {
    let same = || list([dict([("name", text("f")), ("filename", text("x")), ("line", V::Int(1))])]);
    let events =
        list([event("alloc", 1, 1, [("frames", same())]), event("alloc", 2, 1, [("frames", same())])]);
    for writer in WRITERS {
        let read = read_snapshot(&pickle(&snapshot(events.clone(), list([])), writer)[..]).unwrap();
        assert_eq!(read.stacks.frame_count(), 1, "{writer:?}");
        assert_eq!(read.traces[0].events[0].stack, read.traces[0].events[1].stack, "{writer:?}");
    }
}

#[test]
fn frames_may_lack_texts_and_carry_more_than_is_known() {
    let odd = [
        dict([
            ("fx_node_op", text("call")),
            ("name", text("g")),
            ("line", V::Int(-1)),
            ("filename", text("b")),
        ]),
        dict([("name", V::None), ("filename", V::None), ("line", V::Int(0))]),
    ];
    check(
        &snapshot(list([event("alloc", 1, 2, [("frames", list(odd))])]), list([])),
        "
        device 0
          alloc 0x1 2 s0 t1700000000000000 < b:0:g < :0:
        fields: time_us compile_context user_metadata",
    );
}

#[test]
fn stacks_of_thousands_of_frames_arrive_in_parts() {
    let deep = || list((0..2500).map(|n| frame(n % 50)));
    let events = list([
        event("alloc", 1, 2, [("frames", deep())]),
        event("alloc", 2, 2, [("frames", deep())]),
        event("alloc", 3, 2, [("frames", list((0..1001).map(|n| frame(n % 50))))]),
    ]);
    check(
        &snapshot(events, list([])),
        "
        device 0
          alloc 0x1 2 s0 t1700000000000000 < 2500 frames from a.py:0:f0 to a.py:49:f0
          alloc 0x2 2 s0 t1700000000000000 < 2500 frames from a.py:0:f0 to a.py:49:f0
          alloc 0x3 2 s0 t1700000000000000 < 1001 frames from a.py:0:f0 to a.py:0:f0
        fields: time_us compile_context user_metadata",
    );
}

#[test]
fn many_events_with_many_stacks_are_all_told_apart() {
    let lines = |n: u32| (0..30).map(move |depth| n.wrapping_mul(2_654_435_761).rotate_left(depth) % 400);
    let events =
        (0..3000).map(|n| event("alloc", i128::from(n), 1, [("frames", list(lines(n % 300).map(frame)))]));
    let value = snapshot(list(events), list([]));
    for writer in WRITERS {
        let read = read_snapshot(&pickle(&value, writer)[..]).unwrap();
        for (n, event) in (0..).zip(&read.traces[0].events) {
            let frames = read.stacks.frames_of(event.stack.unwrap());
            let found: Vec<u32> = frames.iter().map(|&frame| read.stacks.frame(frame).line).collect();
            assert_eq!(found, lines(n % 300).collect::<Vec<_>>(), "event {n} by {writer:?}");
        }
    }
}

#[test]
fn a_snapshot_of_2_15_is_read_whole() {
    let pool = V::Tuple(vec![V::Int(3), V::Int(0)]);
    let events = list([event(
        "alloc",
        ADDR,
        7,
        [
            ("pool_id", pool.clone()),
            ("user_metadata", text("layer 3")),
            ("internal_metadata", text("x")),
            ("forward_frames", list([text("one")])),
            ("a_field_of_the_future", dict([("action", text("none of ours"))])),
        ],
    )]);
    let block = dict([
        ("address", V::Int(ADDR)),
        ("size", V::Int(2 << 20)),
        ("requested_size", V::Int(7)),
        ("state", text("active_pending_free")),
        ("frames", frames(1, [1, 2])),
    ]);
    let more = [("segment_pool_id", pool), ("is_expandable", V::Bool(true)), ("frames", frames(2, [3]))];
    let settings = dict([
        ("PYTORCH_CUDA_ALLOC_CONF", text("max_split_size_mb:64")),
        ("max_split_size", V::Int(64 << 20)),
        ("garbage_collection_threshold", V::Float(0.5)),
        ("expandable_segments", V::Bool(true)),
        ("roundup_power2_divisions", dict([("1", V::Int(4)), ("2", V::Int(8)), ("32768", V::Int(2))])),
        ("graph_capture_record_stream_reuse", V::Bool(false)),
        ("max_round_threshold", V::Int(-1)),
    ]);
    let scope = |stage: &str| {
        dict([("name", text("step")), ("stage", text(stage)), ("device", V::Int(0)), ("time_us", V::Int(5))])
    };
    let host_event = event("alloc", 64, 32, []);
    let host_block =
        dict([("address", V::Int(64)), ("size", V::Int(32)), ("state", text("active_allocated"))]);
    let value = dict([
        ("segments", list([segment(1, ADDR, list([block]), more)])),
        ("device_traces", list([list([]), events])),
        ("allocator_settings", settings),
        ("external_annotations", list([scope("START"), scope("END")])),
        ("host_traces", list([list([host_event])])),
        ("host_segments", list([segment(7, 64, list([host_block]), [])])),
    ]);
    check(
        &value,
        r#"
        device -1
          alloc 0x40 32 s0 t1700000000000000
          segment 0x40 2097152 s0 (0, 0) small
            Allocated 0x40 32/32
        device 1
          alloc 0x7f0000000000 7 s0 t1700000000000000 pool (3, 0) "layer 3"
          segment 0x7f0000000000 2097152 s0 (3, 0) small expandable < a.py:3:f3
            PendingFree 0x7f0000000000 7/2097152 < a.py:1:f1 < a.py:2:f2
        step begins on 0 t5
        step ends on 0 t5
        RecordedSettings { conf: Some("max_split_size_mb:64"), max_split_size: Some(Bytes(67108864)), garbage_collection_threshold: 0.5, expandable_segments: true, roundup_power2_divisions: [4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2] }
        fields: is_expandable time_us allocator_settings external_annotations compile_context record_stream_reuse user_metadata forward_frames pool_id max_round_threshold host internal_metadata"#,
    );
}

#[test]
fn blocks_of_1_13_have_a_history_and_no_address() {
    let history = |real_size: i128| {
        list([
            dict([("addr", V::Int(ADDR)), ("real_size", V::Int(real_size)), ("frames", frames(1, [5]))]),
            dict([("addr", V::Int(ADDR)), ("real_size", V::Int(3)), ("frames", frames(2, [6]))]),
        ])
    };
    let blocks = list([
        dict([("size", V::Int(512)), ("state", text("active_allocated")), ("history", history(400))]),
        dict([("size", V::Int(1024)), ("state", text("inactive")), ("history", history(900))]),
        dict([("size", V::Int(2048)), ("state", text("active_allocated"))]),
        dict([("size", V::Int(4096)), ("state", text("inactive"))]),
    ]);
    check(
        &list([segment(0, ADDR, blocks, [])]),
        "
        device 0
          segment 0x7f0000000000 2097152 s0 (0, 0) small
            Allocated 0x7f0000000000 400/512 < a.py:5:f5
            Free 0x7f0000000200 0/1024 < a.py:5:f5
            Allocated 0x7f0000000600 2048/2048
            Free 0x7f0000000e00 0/4096
        fields:",
    );
}

#[test]
fn segments_are_sorted_by_address_and_devices_by_number() {
    let bare = |device: i128, address: i128| segment(device, address, list([]), []);
    check(
        &list([bare(1, 9 << 40), bare(0, 5 << 40), bare(1, 2 << 40), bare(0, 1 << 40)]),
        "
        device 0
          segment 0x10000000000 2097152 s0 (0, 0) small
          segment 0x50000000000 2097152 s0 (0, 0) small
        device 1
          segment 0x20000000000 2097152 s0 (0, 0) small
          segment 0x90000000000 2097152 s0 (0, 0) small
        fields:",
    );
    check(&list([]), "fields:");
    check(&snapshot(list([]), list([])), "fields:");
}

#[test]
fn addresses_beyond_2_to_the_63_are_read_in_both_signs() {
    let high = (1i128 << 64) - 512;
    check(
        &snapshot(list([event("alloc", high, 1, []), event("alloc", -512, 1, [])]), list([])),
        "
        device 0
          alloc 0xfffffffffffffe00 1 s0 t1700000000000000
          alloc 0xfffffffffffffe00 1 s0 t1700000000000000
        fields: time_us compile_context user_metadata",
    );
}

#[test]
fn what_is_wrong_with_the_content_is_said_with_its_place() {
    let good = || event("alloc", 1, 1, []);
    let events = |events: Vec<V>| snapshot(V::List(events), list([]));
    let only = |items: V| snapshot(list([good(), items]), list([]));
    check(&events(vec![good(), event("explode", 1, 1, [])]), "device 0, event 1: unknown action `explode`");
    check(
        &events(vec![event("alloc", 1, -5, [])]),
        "device 0, event 0: `size` holds something no PyTorch writes there",
    );
    check(
        &only(dict([("action", text("alloc")), ("size", V::Int(1)), ("stream", V::Int(0))])),
        "device 0, event 1: `addr` is missing",
    );
    check(&only(V::Int(3)), "device 0, event 1: `device_traces` holds something no PyTorch writes there");
    let segments = |item: V| snapshot(list([]), list([item]));
    check(&segments(dict([("address", V::Int(1))])), "segment 0: `total_size` is missing");
    let block = dict([("size", V::Int(1)), ("state", text("liquid"))]);
    check(
        &segments(segment(0, 1, list([block]), [])),
        "segment 0: `state` holds something no PyTorch writes there",
    );
    let found = |found: &str| {
        format!(
            "the file is a pickle but not a memory snapshot: it holds {found}; \
             give the file written by torch.cuda.memory._dump_snapshot"
        )
    };
    check(&dict([("model", V::None), ("epoch", V::Int(3))]), &found("a dict with `model`, `epoch`"));
    check(&V::Dict(vec![]), &found("an empty dict"));
    check(&V::Int(5), &found("an integer"));
    check(&list([V::Int(5)]), &found("a list"));
    check(&list([frame(1)]), &found("a list"));
    check(&list([good()]), &found("a list"));
}

#[test]
fn packed_files_are_read_as_they_are() {
    let plain = pickle(&small(), Writer::Python { protocol: 4, batch: 1000 });
    let expected = describe(&read_snapshot(&plain[..]).unwrap());
    let gzip = |bytes: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = zstd::encode_all(&plain[..], 3).unwrap();
    let two_members = [gzip(&plain[..100]), gzip(&plain[100..])].concat();
    for packed in [gzip(&plain), zstd.clone(), two_members] {
        assert_eq!(describe(&read_snapshot(&packed[..]).unwrap()), expected);
        for len in 0..packed.len() {
            assert!(read_snapshot(&packed[..len]).is_err(), "cut at {len} of {}", packed.len());
        }
    }
    check_refused(&gzip(&gzip(&plain)), "the file is packed twice: unpack it once first");
}

#[test]
fn a_file_may_arrive_in_small_pieces() {
    struct Drops<'a>(&'a [u8]);
    impl std::io::Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
            let count = into.len().min(7).min(self.0.len());
            into[..count].copy_from_slice(&self.0[..count]);
            self.0 = &self.0[count..];
            Ok(count)
        }
    }
    let bytes = pickle(&small(), Writer::Cpp);
    let whole = describe(&read_snapshot(&bytes[..]).unwrap());
    assert_eq!(describe(&read_snapshot(Drops(&bytes)).unwrap()), whole);
}

#[test]
fn the_window_may_end_anywhere() {
    // Texts of growing length move everything behind them across the end of the first window.
    for pad in (262_144 - 700..262_144 + 100).step_by(3) {
        let V::Dict(mut items) = small() else { unreachable!() };
        items.insert(0, (text("pad"), text(&"x".repeat(pad))));
        for writer in [WRITERS[2], Writer::Cpp] {
            let read = read_snapshot(&pickle(&V::Dict(items.clone()), writer)[..]).unwrap();
            assert_eq!(read.traces[0].events.len(), 18, "{pad}");
            assert_eq!(read.traces[0].events[15].stack, read.traces[0].events[4].stack, "{pad}");
        }
    }
}

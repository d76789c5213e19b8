//! Files that are damaged, something else, or written to do harm.

use std::io::{Read, Write};

use crate::*;

/// A pickle of protocol 4 with these opcodes.
fn raw(opcodes: &[&[u8]]) -> Vec<u8> {
    [b"\x80\x04", &opcodes.concat()[..]].concat()
}

#[test]
fn nothing_is_ever_executed() {
    let cases: [(&[u8], &str); 6] = [
        (b"cos\nsystem\n", "GLOBAL"),
        (b"\x8c\x02os\x8c\x06system\x93", "STACK_GLOBAL"),
        (b"N)R", "REDUCE"),
        (b"}}b", "BUILD"),
        (b"(ios\nsystem\n", "INST"),
        (b"N)\x81", "NEWOBJ"),
    ];
    for (opcodes, name) in cases {
        let bytes = raw(&[opcodes, b"."]);
        let error = read_snapshot(&bytes[..]).unwrap_err().to_string();
        let expected = format!("the file asks to run code (opcode {name}); a memory snapshot never does");
        assert!(error.starts_with("byte ") && error.ends_with(&expected), "{error}");
    }
    check_refused(
        &raw(&[b"cos\nsystem\n(S'x'\ntR."]),
        "byte 2: the file asks to run code (opcode GLOBAL); a memory snapshot never does",
    );
}

#[test]
fn files_of_other_kinds_are_named() {
    check_refused(
        b"",
        "the file is empty: the process that wrote it may have died first; dump the snapshot again",
    );
    check_refused(
        b"PK\x03\x04archive/data.pkl",
        "the file is a zip archive, as torch.save writes (a checkpoint): \
         give the file written by torch.cuda.memory._dump_snapshot, or unzip it first",
    );
    let json = "the file is JSON, perhaps a profiler's trace: \
                give the .pickle written by torch.cuda.memory._dump_snapshot";
    check_refused(b"{\"traceEvents\": []}", json);
    check_refused(b"\n  [1, 2]", json);
    check_refused(
        b"<!DOCTYPE html>",
        "the file is HTML, perhaps a viewer page or a failed download: give the .pickle it was made from",
    );
    check_refused(
        b"\x7fELF",
        "the file begins with byte 0x7f, which no pickle does: \
         give the file written by torch.cuda.memory._dump_snapshot",
    );
    check_refused(
        b"\x80\x09.",
        "the file is a pickle of protocol 9; protocols 2 to 5 can be read: dump it again",
    );
}

#[test]
fn a_file_cut_anywhere_is_called_cut_and_where() {
    for writer in WRITERS {
        let bytes = pickle(&small(), writer);
        assert!(read_snapshot(&bytes[..]).is_ok());
        for len in 1..bytes.len() {
            let error = read_snapshot(&bytes[..len]).unwrap_err().to_string();
            let place = format!("the file ends at byte {len} inside ");
            assert!(
                error.starts_with(&place) && error.ends_with("copy it again or dump it again"),
                "{error}"
            );
        }
    }
}

#[test]
fn flipped_bits_never_cause_a_panic() {
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    let mut random = |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for writer in WRITERS {
        let good = pickle(&small(), writer);
        for _ in 0..4000 {
            let mut bytes = good.clone();
            for _ in 0..=random(4) {
                let place = random(bytes.len());
                bytes[place] ^= 1 << random(8);
            }
            // It may or may not be readable, but reading must end.
            let _ = read_snapshot(&bytes[..]);
        }
        for place in 0..good.len() {
            let mut bytes = good.clone();
            bytes[place] = random(256) as u8;
            let _ = read_snapshot(&bytes[..]);
        }
    }
}

#[test]
fn containers_that_hold_themselves_come_to_an_end() {
    let not_snapshot = "the file is a pickle but not a memory snapshot: it holds a list; \
                        give the file written by torch.cuda.memory._dump_snapshot";
    // l = []; l.append(l), one by one and as a batch.
    check_refused(&raw(&[b"]\x94h\x00a."]), not_snapshot);
    check_refused(&raw(&[b"]\x94(h\x00h\x00e."]), not_snapshot);
    // device_traces = [itself], segments = [itself].
    check_refused(
        &raw(&[b"}\x94(\x8c\x0ddevice_traces]\x94h\x01au."]),
        "`device_traces`: the same list is used twice",
    );
    check_refused(
        &raw(&[b"}\x94(\x8c\x08segments]\x94h\x01au."]),
        "segment 0: `segment` holds something no PyTorch writes there",
    );
    // An event whose frames are the trace that holds it.
    let event = b"}(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01\x8c\x06streamK\x00\x8c\x06framesh\x01u";
    let bytes = raw(&[b"}\x94(\x8c\x0ddevice_traces]\x94]\x94(", event, b"eau."]);
    assert!(read_snapshot(&bytes[..]).is_ok());
}

#[test]
fn claims_of_length_reserve_nothing() {
    for opcode in
        [&b"X\xff\xff\xff\xff"[..], b"\x8d\xff\xff\xff\xff\xff\xff\xff\xff", b"\x8d\0\0\0\0\0\0\0\x7f"]
    {
        let bytes = raw(&[opcode, b"abc"]);
        let expected = format!(
            "the file ends at byte {} inside a text: it was cut off; copy it again or dump it again",
            bytes.len()
        );
        check_refused(&bytes, &expected);
    }
    for opcode in
        [&b"B\xff\xff\xff\xff"[..], b"\x8e\xff\xff\xff\xff\xff\xff\xff\xff", b"\x8b\xff\xff\xff\x7f"]
    {
        let error = read_snapshot(&raw(&[opcode, b"abc"])[..]).unwrap_err().to_string();
        assert!(error.contains("inside a run of bytes"), "{error}");
    }
}

#[test]
fn the_memo_is_bounded_and_written_once() {
    let damaged = |at: u64, what: &str| {
        format!("byte {at}: {what}: the file is damaged; copy it again or dump it again")
    };
    check_refused(&raw(&[b"Nr\xff\xff\xff\x7f."]), &damaged(3, "a memo index runs far ahead of the memo"));
    check_refused(&raw(&[b"Nq\x05Nq\x05."]), &damaged(6, "a memo slot is written twice"));
    check_refused(&raw(&[b"h\x05."]), &damaged(2, "an empty memo slot is read"));
    check_refused(&raw(&[b"Nq\x05h\x04."]), &damaged(5, "an empty memo slot is read"));
}

#[test]
fn opcodes_without_their_operands_are_refused() {
    for opcodes in [
        &b"."[..],
        b"a.",
        b"e.",
        b"(e.",
        b"u.",
        b"]u.",
        b"N(Ne.",
        b"}NNNs.",
        b"}(Nu.",
        b"1.",
        b"\x86.",
        b"N(\x85.",
        b"NNa.",
        b"NNNs.",
        b"\x94.",
        b"0.",
        b"2.",
        b"]2.",
        b"t.",
        b"l.",
        b"d.",
        b"(Nd.",
        b"\x90.",
    ] {
        let error = read_snapshot(&raw(&[opcodes])[..]).unwrap_err().to_string();
        assert!(
            error.ends_with("the file is damaged; copy it again or dump it again"),
            "{opcodes:x?}: {error}"
        );
    }
}

#[test]
fn all_other_plain_opcodes_are_understood() {
    // Every opcode below leaves one value, which is thrown away; then comes an empty list, which is a snapshot.
    for opcodes in [
        &b"N"[..],
        b"\x88",
        b"\x89",
        b"J\xff\xff\xff\xff",
        b"K\x01",
        b"M\x01\x02",
        b"\x8a\x00",
        b"\x8a\x09\xff\xff\xff\xff\xff\xff\xff\xff\x00",
        b"\x8a\x0b01234567890",
        b"\x8b\x02\x00\x00\x00ab",
        b"G01234567",
        b"X\x02\0\0\0ab",
        b"\x8c\x02ab",
        b"\x8d\x02\0\0\0\0\0\0\0ab",
        b"T\x02\0\0\0ab",
        b"U\x02ab",
        b"B\x02\0\0\0ab",
        b"C\x02ab",
        b"\x8e\x02\0\0\0\0\0\0\0ab",
        b"\x96\x02\0\0\0\0\0\0\0ab",
        b")",
        b"(NNNt",
        b"N\x85",
        b"NN\x86",
        b"NNN\x87",
        b"(NNl",
        b"(NNd",
        b"(l",
        b"(d",
        b"\x8f(NN\x90",
        b"(NN\x91",
        b"N2\x86",
        b"N(NN1",
        b"NN0",
        b"N(0",
        b"\x8c\x02\xff\xfe",
    ] {
        let read = read_snapshot(&raw(&[opcodes, b"0]."])[..]);
        assert!(read.is_ok(), "{opcodes:x?}: {read:?}");
    }
}

#[test]
fn bombs_are_refused_before_they_fill_the_memory() {
    let packed = |opcodes: &[u8], times: u64| {
        let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
        encoder.write_all(b"\x80\x04").unwrap();
        let repeated = opcodes.repeat(4096);
        std::io::copy(&mut std::io::repeat(0).take(times), &mut Counter { encoder: &mut encoder, repeated })
            .unwrap();
        encoder.finish().unwrap()
    };
    /// Writes `repeated` for every byte written to it.
    struct Counter<'a, W: Write> {
        encoder: &'a mut W,
        repeated: Vec<u8>,
    }
    impl<W: Write> Write for Counter<'_, W> {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            for _ in bytes {
                self.encoder.write_all(&self.repeated)?;
            }
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    for opcodes in [&b"N"[..], b"(", b"]", b"]\x94", b"}(NNu", b"NN\x86", b"N\x94"] {
        let error = read_snapshot(&packed(opcodes, 8192)[..]).unwrap_err().to_string();
        assert!(error.contains("unpack to far more than a snapshot holds"), "{opcodes:x?}: {error}");
    }
    // One text of 256 MiB.
    let mut long = raw(&[b"\x8d\0\0\0\x10\0\0\0\0"]);
    long.resize(long.len() + (256 << 20), b'a');
    let error = read_snapshot(&zstd::encode_all(&long[..], 1).unwrap()[..]).unwrap_err().to_string();
    assert!(error.contains("unpack to far more than a snapshot holds"), "{error}");
    // Values that are dropped cost time but no memory.
    let error = read_snapshot(&packed(b"N0", 8192)[..]).unwrap_err().to_string();
    assert!(error.contains("it was cut off"), "{error}");
}

#[test]
fn changes_that_would_be_made_again_and_again_are_refused() {
    // A list of frames in two parts that goes on after an event used it.
    let frame = b"}\x94(\x8c\x08filename\x8c\x01a\x8c\x04lineK\x01\x8c\x04name\x8c\x01bu";
    let event = b"}(\x8c\x06action\x8c\x05alloc\x8c\x04addrK\x01\x8c\x04sizeK\x01\x8c\x06streamK\x00\x8c\x06framesh\x01u0";
    let parts = raw(&[frame, b"0]\x94(h\x00e(h\x00e0", event, b"h\x01h\x00a."]);
    let error = read_snapshot(&parts[..]).unwrap_err().to_string();
    assert!(error.contains("a container is added to after it was used"), "{error}");
}

//! The opcodes of pickle, protocols 2 to 5.

pub(super) const PROTO: u8 = 0x80;
pub(super) const FRAME: u8 = 0x95;
pub(super) const STOP: u8 = b'.';
pub(super) const MARK: u8 = b'(';
pub(super) const POP: u8 = b'0';
pub(super) const POP_MARK: u8 = b'1';
pub(super) const DUP: u8 = b'2';

pub(super) const NONE: u8 = b'N';
pub(super) const NEWTRUE: u8 = 0x88;
pub(super) const NEWFALSE: u8 = 0x89;
pub(super) const BININT: u8 = b'J';
pub(super) const BININT1: u8 = b'K';
pub(super) const BININT2: u8 = b'M';
pub(super) const LONG1: u8 = 0x8a;
pub(super) const LONG4: u8 = 0x8b;
pub(super) const BINFLOAT: u8 = b'G';

pub(super) const BINUNICODE: u8 = b'X';
pub(super) const SHORT_BINUNICODE: u8 = 0x8c;
pub(super) const BINUNICODE8: u8 = 0x8d;
pub(super) const BINSTRING: u8 = b'T';
pub(super) const SHORT_BINSTRING: u8 = b'U';
pub(super) const BINBYTES: u8 = b'B';
pub(super) const SHORT_BINBYTES: u8 = b'C';
pub(super) const BINBYTES8: u8 = 0x8e;
pub(super) const BYTEARRAY8: u8 = 0x96;

pub(super) const EMPTY_TUPLE: u8 = b')';
pub(super) const TUPLE: u8 = b't';
pub(super) const TUPLE1: u8 = 0x85;
pub(super) const TUPLE2: u8 = 0x86;
pub(super) const TUPLE3: u8 = 0x87;
pub(super) const EMPTY_LIST: u8 = b']';
pub(super) const LIST: u8 = b'l';
pub(super) const APPEND: u8 = b'a';
pub(super) const APPENDS: u8 = b'e';
pub(super) const EMPTY_DICT: u8 = b'}';
pub(super) const DICT: u8 = b'd';
pub(super) const SETITEM: u8 = b's';
pub(super) const SETITEMS: u8 = b'u';
pub(super) const EMPTY_SET: u8 = 0x8f;
pub(super) const ADDITEMS: u8 = 0x90;
pub(super) const FROZENSET: u8 = 0x91;

pub(super) const BINPUT: u8 = b'q';
pub(super) const LONG_BINPUT: u8 = b'r';
pub(super) const MEMOIZE: u8 = 0x94;
pub(super) const BINGET: u8 = b'h';
pub(super) const LONG_BINGET: u8 = b'j';

/// The name of an opcode that calls or imports something, or asks the loading program for an object.
pub(super) fn runs_code(opcode: u8) -> Option<&'static str> {
    Some(match opcode {
        b'c' => "GLOBAL",
        0x93 => "STACK_GLOBAL",
        b'R' => "REDUCE",
        b'b' => "BUILD",
        b'i' => "INST",
        b'o' => "OBJ",
        0x81 => "NEWOBJ",
        0x92 => "NEWOBJ_EX",
        0x82 => "EXT1",
        0x83 => "EXT2",
        0x84 => "EXT4",
        b'P' => "PERSID",
        b'Q' => "BINPERSID",
        0x97 => "NEXT_BUFFER",
        0x98 => "READONLY_BUFFER",
        _ => return None,
    })
}

/// Whether the opcode is one of protocol 0, whose operands are lines of text. No snapshot was written in it.
pub(super) fn is_text(opcode: u8) -> bool {
    matches!(opcode, b'I' | b'L' | b'F' | b'S' | b'V' | b'p' | b'g')
}

/// How many bytes the opcode and its operand of fixed length take.
pub(super) fn width(opcode: u8) -> usize {
    match opcode {
        PROTO | BININT1 | LONG1 | SHORT_BINUNICODE | SHORT_BINSTRING | SHORT_BINBYTES | BINPUT | BINGET => 2,
        BININT2 => 3,
        BININT | LONG4 | BINUNICODE | BINSTRING | BINBYTES | LONG_BINPUT | LONG_BINGET => 5,
        FRAME | BINFLOAT | BINUNICODE8 | BINBYTES8 | BYTEARRAY8 => 9,
        _ => 1,
    }
}

//! `cudaDeviceProp`, whose layout depends on the version of CUDA.

use crate::card::Card;

/// Where the fields are that programs look at.
#[derive(Debug)]
pub(crate) struct Layout {
    /// The length of the whole.
    pub(crate) length: usize,
    /// `(field, offset)`, in the order of [`FIELDS`].
    pub(crate) offsets: [usize; FIELDS.len()],
}

/// The fields that are filled in; all others are zero.
pub(crate) const FIELDS: [&str; 20] = [
    "totalGlobalMem",
    "sharedMemPerBlock",
    "regsPerBlock",
    "warpSize",
    "maxThreadsPerBlock",
    "maxThreadsDim",
    "maxGridSize",
    "totalConstMem",
    "major",
    "minor",
    "textureAlignment",
    "multiProcessorCount",
    "l2CacheSize",
    "maxThreadsPerMultiProcessor",
    "sharedMemPerMultiprocessor",
    "regsPerMultiprocessor",
    "cooperativeLaunch",
    "sharedMemPerBlockOptin",
    "maxBlocksPerMultiProcessor",
    "unifiedAddressing",
];

/// CUDA 12 (`cudaGetDeviceProperties_v2`).
pub(crate) const CUDA_12: Layout = Layout {
    length: 1032,
    offsets: [
        288, 296, 304, 308, 320, 324, 336, 352, 360, 364, 368, 388, 616, 624, 640, 648, 688, 696, 712, 604,
    ],
};

/// CUDA 13, which dropped clock rates and modes.
pub(crate) const CUDA_13: Layout = Layout {
    length: 1008,
    offsets: [
        288, 296, 304, 308, 320, 324, 336, 352, 360, 364, 368, 384, 596, 604, 624, 632, 668, 672, 688, 588,
    ],
};

/// The card as CUDA describes it.
pub(crate) fn describe(card: &Card, layout: &Layout) -> Vec<u8> {
    let mut bytes = vec![0; layout.length];
    let name = card.name.as_bytes();
    let length = name.len().min(255);
    bytes[..length].copy_from_slice(&name[..length]);
    // A name for the card among cards: the bytes of "oomph's phantom".
    bytes[256..272].copy_from_slice(b"oomph's phantom\0");
    let shared = card.shared_per_processor() as u64;
    let values: [&[u64]; FIELDS.len()] = [
        &[card.total],
        &[48 << 10],
        &[65_536],
        &[32],
        &[1024],
        &[1024, 1024, 64],
        &[2_147_483_647, 65_535, 65_535],
        &[65_536],
        &[card.capability.0 as u64],
        &[card.capability.1 as u64],
        &[512],
        &[card.processors as u64],
        &[50 << 20],
        &[card.threads_per_processor() as u64],
        &[shared],
        &[65_536],
        &[1],
        &[shared - (1 << 10)],
        &[32],
        &[1],
    ];
    for ((field, offset), values) in FIELDS.iter().zip(layout.offsets).zip(values) {
        let width = if is_long(field) { 8 } else { 4 };
        for (index, value) in values.iter().enumerate() {
            let at = offset + index * width;
            bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
    bytes
}

/// Whether a field is a `size_t`.
fn is_long(field: &str) -> bool {
    matches!(
        field,
        "totalGlobalMem"
            | "sharedMemPerBlock"
            | "totalConstMem"
            | "textureAlignment"
            | "sharedMemPerMultiprocessor"
            | "sharedMemPerBlockOptin"
    )
}

//! `cudaDeviceProp`, whose layout depends on the version of CUDA.

use oomph_trace::phantom::PhantomCard;

use crate::card::{blocks_per_processor, cache, shared_per_processor, threads_per_processor};

/// A version of CUDA, by its layout of the structure. CUDA 13 dropped clock rates and modes.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Cuda {
    Twelve,
    Thirteen,
}

/// The card as CUDA describes it.
pub(crate) fn describe(card: &PhantomCard, cuda: Cuda) -> Vec<u8> {
    let (major, minor) = (card.capability.0.into(), card.capability.1.into());
    let shared = shared_per_processor(card) as u64;
    // Where each field begins in CUDA 12 and in CUDA 13, how many bytes each of its values has, and the values. The
    // fields that programs do not look at are zero.
    let fields: [(&str, [usize; 2], usize, &[u64]); 20] = [
        ("totalGlobalMem", [288, 288], 8, &[card.total.0]),
        ("sharedMemPerBlock", [296, 296], 8, &[48 << 10]),
        ("regsPerBlock", [304, 304], 4, &[65_536]),
        ("warpSize", [308, 308], 4, &[32]),
        ("maxThreadsPerBlock", [320, 320], 4, &[1024]),
        ("maxThreadsDim", [324, 324], 4, &[1024, 1024, 64]),
        ("maxGridSize", [336, 336], 4, &[2_147_483_647, 65_535, 65_535]),
        ("totalConstMem", [352, 352], 8, &[65_536]),
        ("major", [360, 360], 4, &[major]),
        ("minor", [364, 364], 4, &[minor]),
        ("textureAlignment", [368, 368], 8, &[512]),
        ("multiProcessorCount", [388, 384], 4, &[card.multiprocessors.into()]),
        ("unifiedAddressing", [604, 588], 4, &[1]),
        ("l2CacheSize", [616, 596], 4, &[cache(card)]),
        ("maxThreadsPerMultiProcessor", [624, 604], 4, &[threads_per_processor(card) as u64]),
        ("sharedMemPerMultiprocessor", [640, 624], 8, &[shared]),
        ("regsPerMultiprocessor", [648, 632], 4, &[65_536]),
        ("cooperativeLaunch", [688, 668], 4, &[1]),
        ("sharedMemPerBlockOptin", [696, 672], 8, &[shared - (1 << 10)]),
        ("maxBlocksPerMultiProcessor", [712, 688], 4, &[blocks_per_processor(card) as u64]),
    ];
    let (which, length) = match cuda {
        Cuda::Twelve => (0, 1032),
        Cuda::Thirteen => (1, 1008),
    };
    let mut bytes = vec![0; length];
    let name = &card.name.as_bytes()[..card.name.len().min(255)];
    bytes[..name.len()].copy_from_slice(name);
    // The card's UUID: the bytes of "oomph's phantom".
    bytes[256..272].copy_from_slice(b"oomph's phantom\0");
    for (_, offsets, width, values) in fields {
        for (index, value) in values.iter().enumerate() {
            let at = offsets[which] + index * width;
            bytes[at..at + width].copy_from_slice(&value.to_le_bytes()[..width]);
        }
    }
    bytes
}

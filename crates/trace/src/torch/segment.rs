//! The dicts of segments and blocks, of every PyTorch from 1.13 on.

use super::event::Fault;
use super::lookup::{Dict, take_list};
use super::records::{Records, TorchHeap, TorchValue};
use super::words;
use crate::event::{PoolId, Stream};
use crate::pickle::Value;
use crate::snapshot::{Block, BlockState, Segment};
use crate::stack::StackId;
use crate::units::{Addr, Bytes};

/// Reads one segment and the number of its device.
pub(super) fn segment(
    value: TorchValue,
    records: &mut Records,
    heap: &mut TorchHeap,
) -> Result<(i32, Segment), Fault> {
    let dict = Dict::take(value, heap).ok_or(Fault::Wrong("segment"))?;
    let device = match dict.get(words::DEVICE) {
        None => 0,
        Some(Value::Int(device)) => i32::try_from(device).map_err(|_| Fault::Wrong("device"))?,
        Some(_) => return Err(Fault::Wrong("device")),
    };
    let addr = Addr(bits(&dict, words::ADDRESS, "address")?.ok_or(Fault::Missing("address"))?);
    let size = Bytes(dict.required(words::TOTAL_SIZE, "total_size")?);
    let pool = match dict.get(words::SEGMENT_POOL_ID) {
        Some(value) => records.pool(value, heap),
        None => records.pools.intern(PoolId::DEFAULT),
    };
    records.fields.is_expandable |= dict.has(words::IS_EXPANDABLE);
    let frames = dict.get(words::FRAMES);
    let list = take_list(dict.get(words::BLOCKS).ok_or(Fault::Missing("blocks"))?, heap)
        .ok_or(Fault::Wrong("blocks"))?;
    let mut blocks = Vec::with_capacity(list.len());
    let mut next = addr;
    for value in list {
        let block = block(value, next, records, heap)?;
        next = block.addr.offset(block.size);
        blocks.push(block);
    }
    blocks.sort_by_key(|block| block.addr);
    let segment = Segment {
        addr,
        size,
        stream: Stream(bits(&dict, words::STREAM, "stream")?.unwrap_or(0)),
        pool: pool.ok_or(Fault::Wrong("segment_pool_id"))?,
        small: matches!(dict.get(words::SEGMENT_TYPE), Some(Value::Text(words::SMALL))),
        expandable: matches!(dict.get(words::IS_EXPANDABLE), Some(Value::Bool(true))),
        stack: stack(frames, records, heap)?,
        blocks,
    };
    Ok((device, segment))
}

/// Reads one block. `next` is where it begins if it does not say (before PyTorch 2.1).
fn block(value: TorchValue, next: Addr, records: &mut Records, heap: &mut TorchHeap) -> Result<Block, Fault> {
    let dict = Dict::take(value, heap).ok_or(Fault::Wrong("blocks"))?;
    let size = dict.required(words::SIZE, "size")?;
    let state = match dict.get(words::STATE).ok_or(Fault::Missing("state"))? {
        Value::Text(words::ACTIVE_ALLOCATED) => BlockState::Allocated,
        Value::Text(words::ACTIVE_PENDING_FREE | words::ACTIVE_AWAITING_FREE) => BlockState::PendingFree,
        Value::Text(words::INACTIVE) => BlockState::Free,
        _ => return Err(Fault::Wrong("state")),
    };
    // The first entry of the history is the latest allocation.
    let latest = match dict.get(words::HISTORY) {
        Some(history) => take_list(history, heap).and_then(|list| Dict::take(*list.first()?, heap)),
        None => None,
    };
    let real_size =
        latest.as_ref().map_or(Ok(None), |latest| latest.amount(words::REAL_SIZE, "real_size"))?;
    let requested = match dict.amount(words::REQUESTED_SIZE, "requested_size")? {
        Some(requested) => requested,
        None if state == BlockState::Free => 0,
        None => real_size.unwrap_or(size),
    };
    let frames = dict.get(words::FRAMES).or_else(|| latest.as_ref()?.get(words::FRAMES));
    Ok(Block {
        addr: bits(&dict, words::ADDRESS, "address")?.map_or(next, Addr),
        size: Bytes(size),
        requested: Bytes(requested),
        state,
        stack: stack(frames, records, heap)?,
    })
}

fn stack(
    frames: Option<TorchValue>,
    records: &mut Records,
    heap: &mut TorchHeap,
) -> Result<Option<StackId>, Fault> {
    frames.map_or(Ok(None), |frames| records.stack(frames, heap))
}

/// An address or a handle: all 64 bits count.
fn bits(dict: &Dict, key: crate::text::TextId, name: &'static str) -> Result<Option<u64>, Fault> {
    dict.get(key).map(|value| value.as_bits().ok_or(Fault::Wrong(name))).transpose()
}

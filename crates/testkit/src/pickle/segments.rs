//! Segments and their blocks.

use std::collections::HashMap;
use std::io::{self, Write};

use oomph_engine::torch::profile::Version;
use oomph_trace::{Addr, Block, BlockState, Bytes, Segment, StackId};

use super::Writer;
use super::encoder::Memo;

/// Lists of frames by the address of the block they were written for.
pub(super) type BlockLists = HashMap<Addr, (StackId, Memo)>;

impl<W: Write> Writer<'_, W> {
    pub(super) fn segment(
        &mut self,
        device: i32,
        segment: &Segment,
        lists: &mut BlockLists,
    ) -> io::Result<()> {
        // PyTorch 2.1 brought pools, expandable segments and frames of segments.
        let modern = self.version >= Version::two(1);
        let sum = |of: &dyn Fn(&Block) -> Option<Bytes>| segment.blocks.iter().filter_map(of).sum::<Bytes>();
        let allocated = sum(&|block| (block.state == BlockState::Allocated).then_some(block.size));
        let active = sum(&|block| (block.state != BlockState::Free).then_some(block.size));
        let requested = sum(&|block| (block.state != BlockState::Free).then_some(block.requested));
        let dict = self.out.open_dict(if modern { 12 } else { 9 });
        self.word("device");
        self.out.int(device.into());
        for (word, value) in [
            ("address", segment.addr.0),
            ("total_size", segment.size.0),
            ("allocated_size", allocated.0),
            ("active_size", active.0),
            ("requested_size", requested.0),
            ("stream", segment.stream.0),
        ] {
            self.word(word);
            self.out.int(value.into());
        }
        self.word("segment_type");
        self.word(if segment.small { "small" } else { "large" });
        if modern {
            self.word("segment_pool_id");
            let pool = self.snapshot.pool_id(segment.pool);
            self.out.pair(pool.0, pool.1);
            self.word("is_expandable");
            self.out.boolean(segment.expandable);
        }
        // PyTorch adds the frames last, when it knows them; where there are none, it puts an empty list here.
        if modern && segment.stack.is_none() {
            self.word("frames");
            self.frames.none(&mut self.out)?;
        }
        self.word("blocks");
        let list = self.out.open_list(segment.blocks.len());
        for (n, block) in segment.blocks.iter().enumerate() {
            self.out.item(n, segment.blocks.len());
            if modern { self.block(block, lists)? } else { self.old_block(block)? }
        }
        self.out.close_list(list)?;
        if let Some(stack) = segment.stack.filter(|_| modern) {
            self.word("frames");
            self.frames.list(&mut self.out, &mut self.words, stack)?;
        }
        self.out.close_dict(dict)?;
        Ok(())
    }

    fn block(&mut self, block: &Block, lists: &mut BlockLists) -> io::Result<()> {
        let dict = self.out.open_dict(5);
        self.word("address");
        self.out.int(block.addr.0.into());
        self.size_and_state(block);
        self.word("frames");
        match block.stack {
            Some(stack) => {
                let memo = self.frames.list(&mut self.out, &mut self.words, stack)?;
                lists.insert(block.addr, (stack, memo));
            }
            None => self.frames.none(&mut self.out)?,
        }
        self.out.close_dict(dict)?;
        Ok(())
    }

    /// Up to 2.0 a block has no address, and its frames are in a history of what it served.
    fn old_block(&mut self, block: &Block) -> io::Result<()> {
        let stack = block.stack.filter(|_| block.state != BlockState::Free);
        let dict = self.out.open_dict(3 + usize::from(stack.is_some()));
        self.size_and_state(block);
        if let Some(stack) = stack {
            self.word("history");
            let list = self.out.open_list(1);
            self.out.item(0, 1);
            let entry = self.out.open_dict(3);
            self.word("addr");
            self.out.int(block.addr.0.into());
            self.word("real_size");
            self.out.int(block.requested.0.into());
            self.word("frames");
            self.frames.list(&mut self.out, &mut self.words, stack)?;
            self.out.close_dict(entry)?;
            self.out.close_list(list)?;
        }
        self.out.close_dict(dict)?;
        Ok(())
    }

    fn size_and_state(&mut self, block: &Block) {
        self.word("size");
        self.out.int(block.size.0.into());
        self.word("requested_size");
        self.out.int(block.requested.0.into());
        self.word("state");
        self.word(match block.state {
            BlockState::Allocated => "active_allocated",
            BlockState::PendingFree => "active_pending_free",
            BlockState::Free => "inactive",
        });
    }
}

//! A sidecar as the dictionary that oomph's recorder writes.

use oomph_trace::sidecar::{
    Card, ClassSample, Exception, Framework, HeldByClass, Host, HostSample, Link, Mark, MarkKind,
    MemorySample, Process, SeenFrame, SeenOom, Sidecar, Span, StorageClass, Variables, Versions, Why,
};
use oomph_trace::{Addr, Bytes};

use super::Tree;

/// What can stand in a sidecar.
trait ToTree {
    fn tree(&self) -> Tree;
}

impl<T: ToTree> ToTree for Option<T> {
    fn tree(&self) -> Tree {
        self.as_ref().map_or(Tree::None, ToTree::tree)
    }
}

impl<T: ToTree> ToTree for Vec<T> {
    fn tree(&self) -> Tree {
        Tree::list(self.iter().map(ToTree::tree))
    }
}

/// Entries of a dictionary: fields of `it` under their own names.
macro_rules! entries {
    ($it:expr; $($field:ident)*) => { [$((stringify!($field), $it.$field.tree())),*] };
}

macro_rules! plain {
    ($($type:ty: |$it:ident| $tree:expr;)*) => { $(
        impl ToTree for $type {
            fn tree(&self) -> Tree {
                let $it = self;
                $tree
            }
        }
    )* };
}

plain! {
    u32: |it| Tree::int(*it);
    u64: |it| Tree::int(*it);
    f64: |it| Tree::Float(*it);
    bool: |it| Tree::Bool(*it);
    String: |it| Tree::text(it);
    Bytes: |it| Tree::int(it.0);
    Addr: |it| Tree::int(it.0);
    (u32, u32): |it| Tree::list([it.0.tree(), it.1.tree()]);

    Why: |it| Tree::text(it.name());
    Framework: |it| Tree::text(it.name());
    MarkKind: |it| Tree::text(it.name());
    StorageClass: |it| Tree::text(it.name());

    Mark: |it| Tree::list([it.time_us.tree(), it.kind.tree(), it.number.tree()]);
    Span: |it| Tree::list([it.from_us.tree(), it.to_us.tree()]);
    ClassSample: |it|
        Tree::list([it.time_us.tree(), it.device.tree(), it.addr.tree(), it.bytes.tree(), it.class.tree()]);
    MemorySample: |it| Tree::list([
        it.time_us.tree(), it.step.tree(), it.allocated.tree(), it.reserved.tree(), it.peak_allocated.tree(),
    ]);
    HeldByClass: |it| Tree::dict(entries!(it; weights gradients optimizer buffers));
    HostSample: |it| Tree::list([it.time_us.tree(), it.rss.tree(), it.available.tree()]);

    Versions: |it| Tree::dict(entries!(it; python torch cuda driver));
    Variables: |it| Tree::dict([
        ("PYTORCH_ALLOC_CONF", it.alloc_conf.tree()),
        ("PYTORCH_CUDA_ALLOC_CONF", it.cuda_alloc_conf.tree()),
    ]);
    Card: |it| {
        let card = entries!(
            it; index name total capability uuid fraction limit free used_by_others processes history
            by_class
        );
        let stats = entries!(
            it.stats; peak_requested peak_allocated peak_active peak_reserved allocated reserved retries ooms
        );
        Tree::dict(card.into_iter().chain(stats))
    };
    Process: |it| Tree::dict(entries!(it; pid name bytes));
    SeenOom: |it| Tree::dict(entries!(it; time_us device requested total free text frames));
    SeenFrame: |it|
        Tree::dict([("filename", it.file.tree()), ("line", it.line.tree()), ("name", it.function.tree())]);
    Host: |it| Tree::dict(entries!(
        it; rss peak_rss available total cgroup_limit cgroup_current cgroup_oom_kills shm_total shm_free samples
    ));
    Exception: |it|
        Tree::dict([("type", it.class.tree())].into_iter().chain(entries!(it; text traceback uncaught oom chain)));
    Link: |it| Tree::dict(entries!(it; classes text));
}

/// The dictionary under the key `oomph`.
pub fn tree_of(sidecar: &Sidecar) -> Tree {
    let format = [("format", Tree::Int(1))];
    let identity = entries!(
        sidecar.identity; oomph run name pid argv rank local_rank world_size
    );
    let rest = entries!(
        sidecar; started_us written_us why framework versions settings devices marks stacks classes host ooms exception
        ended_in_oom
    );
    Tree::dict(format.into_iter().chain(identity).chain(rest))
}

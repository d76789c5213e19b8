//! A sidecar as the dictionary that oomph's recorder writes.

use oomph_trace::Bytes;
use oomph_trace::sidecar::{
    Card, Exception, Framework, Host, Link, MarkKind, SeenOom, Sidecar, StorageClass, Why,
};

use super::Tree;

/// The dictionary under the key `oomph`.
pub fn tree_of(sidecar: &Sidecar) -> Tree {
    let identity = &sidecar.identity;
    let (versions, settings) = (&sidecar.versions, &sidecar.settings);
    let known = |entries: Vec<(&'static str, &Option<String>)>| {
        let known = entries.into_iter().filter_map(|(key, text)| Some((key, Tree::text(text.as_ref()?))));
        Tree::dict(known)
    };
    Tree::dict([
        ("format", Tree::Int(1)),
        ("oomph", text(&identity.oomph)),
        ("run", text(&identity.run)),
        ("name", text(&identity.name)),
        ("pid", integer(identity.pid)),
        ("argv", Tree::list(identity.argv.iter().map(Tree::text))),
        ("rank", integer(identity.rank.map(u64::from))),
        ("local_rank", integer(identity.local_rank.map(u64::from))),
        ("world_size", integer(identity.world_size.map(u64::from))),
        ("started_us", integer(sidecar.started_us)),
        ("written_us", integer(sidecar.written_us)),
        ("why", Tree::or_none(sidecar.why.map(Why::name), Tree::text)),
        ("framework", Tree::or_none(sidecar.framework.map(Framework::name), Tree::text)),
        (
            "versions",
            known(vec![
                ("python", &versions.python),
                ("torch", &versions.torch),
                ("cuda", &versions.cuda),
                ("driver", &versions.driver),
            ]),
        ),
        (
            "settings",
            known(vec![
                ("PYTORCH_ALLOC_CONF", &settings.alloc_conf),
                ("PYTORCH_CUDA_ALLOC_CONF", &settings.cuda_alloc_conf),
            ]),
        ),
        ("devices", Tree::list(sidecar.devices.iter().map(card))),
        (
            "marks",
            Tree::list(sidecar.marks.iter().map(|mark| {
                let kind = Tree::text(MarkKind::name(mark.kind));
                Tree::list([Tree::int(mark.time_us), kind, Tree::int(mark.number)])
            })),
        ),
        (
            "stacks",
            Tree::list(
                sidecar.stacks.iter().map(|span| Tree::list([Tree::int(span.from_us), integer(span.to_us)])),
            ),
        ),
        (
            "classes",
            Tree::list(sidecar.classes.iter().map(|entry| {
                let place = [entry.time_us, u64::from(entry.device), entry.addr.0, entry.bytes.0];
                let class = Tree::text(StorageClass::name(entry.class));
                Tree::list(place.map(Tree::int).into_iter().chain([class]))
            })),
        ),
        ("host", Tree::or_none(sidecar.host.as_ref(), host)),
        ("ooms", Tree::list(sidecar.ooms.iter().map(oom))),
        ("exception", Tree::or_none(sidecar.exception.as_ref(), exception)),
    ])
}

fn card(card: &Card) -> Tree {
    let stats = &card.stats;
    Tree::dict([
        ("index", Tree::int(card.index)),
        ("name", text(&card.name)),
        ("total", amount(card.total)),
        (
            "capability",
            Tree::or_none(card.capability, |(major, minor)| Tree::list([Tree::int(major), Tree::int(minor)])),
        ),
        ("uuid", text(&card.uuid)),
        ("fraction", Tree::or_none(card.fraction, Tree::Float)),
        ("limit", amount(card.limit)),
        ("free", amount(card.free)),
        ("used_by_others", amount(card.used_by_others)),
        (
            "processes",
            Tree::list(card.processes.iter().map(|process| {
                Tree::dict([
                    ("pid", Tree::int(process.pid)),
                    ("name", text(&process.name)),
                    ("bytes", amount(process.bytes)),
                ])
            })),
        ),
        ("peak_requested", amount(stats.peak_requested)),
        ("peak_allocated", amount(stats.peak_allocated)),
        ("peak_active", amount(stats.peak_active)),
        ("peak_reserved", amount(stats.peak_reserved)),
        ("allocated", amount(stats.allocated)),
        ("reserved", amount(stats.reserved)),
        ("retries", integer(stats.retries)),
        ("ooms", integer(stats.ooms)),
    ])
}

fn oom(oom: &SeenOom) -> Tree {
    let frames = oom.frames.iter().map(|frame| {
        Tree::dict([
            ("filename", Tree::text(&frame.file)),
            ("line", Tree::int(frame.line)),
            ("name", Tree::text(&frame.function)),
        ])
    });
    Tree::dict([
        ("time_us", Tree::int(oom.time_us)),
        ("device", Tree::int(oom.device)),
        ("requested", amount(oom.requested)),
        ("total", amount(oom.total)),
        ("free", amount(oom.free)),
        ("text", text(&oom.text)),
        ("frames", Tree::list(frames)),
    ])
}

fn host(host: &Host) -> Tree {
    Tree::dict([
        ("rss", amount(host.rss)),
        ("peak_rss", amount(host.peak_rss)),
        ("available", amount(host.available)),
        ("total", amount(host.total)),
        ("cgroup_limit", amount(host.cgroup_limit)),
        ("cgroup_current", amount(host.cgroup_current)),
        ("cgroup_oom_kills", integer(host.cgroup_oom_kills)),
        ("shm_total", amount(host.shm_total)),
        ("shm_free", amount(host.shm_free)),
        (
            "samples",
            Tree::list(
                host.samples.iter().map(|sample| {
                    Tree::list([sample.time_us, sample.rss.0, sample.available.0].map(Tree::int))
                }),
            ),
        ),
    ])
}

fn exception(exception: &Exception) -> Tree {
    let link = |link: &Link| {
        let classes = Tree::list(link.classes.iter().map(Tree::text));
        Tree::dict([("classes", classes), ("text", Tree::text(&link.text))])
    };
    Tree::dict([
        ("type", text(&exception.class)),
        ("text", text(&exception.text)),
        ("traceback", text(&exception.traceback)),
        ("uncaught", Tree::Bool(exception.uncaught)),
        ("oom", Tree::Bool(exception.oom)),
        ("chain", Tree::list(exception.chain.iter().map(link))),
    ])
}

fn text(text: &Option<String>) -> Tree {
    Tree::or_none(text.as_ref(), Tree::text)
}

fn integer(n: Option<u64>) -> Tree {
    Tree::or_none(n, Tree::int)
}

fn amount(bytes: Option<Bytes>) -> Tree {
    integer(bytes.map(|bytes| bytes.0))
}

//! What oomph's recorder states about a run and a plain snapshot leaves to be inferred.

use oomph_trace::sidecar::Card;
use oomph_trace::{Bytes, Snapshot};

use crate::torch::options::Options;
use crate::torch::profile::{Profile, Version};
use crate::torch::variables;

/// The version of PyTorch, if it is one whose allocator is modelled.
pub(crate) fn version(snapshot: &Snapshot) -> Option<Version> {
    snapshot.sidecar.as_ref()?.versions.torch.as_deref()?.parse().ok()
}

/// The settings by the process's environment, for snapshots that do not state what took effect.
pub(crate) fn options(snapshot: &Snapshot, profile: &Profile) -> Option<Options> {
    let set = &snapshot.sidecar.as_ref()?.settings;
    let (_, conf) =
        variables::in_force(set.cuda_alloc_conf.as_deref(), set.alloc_conf.as_deref(), Some(profile.version));
    conf.map(|conf| Options::as_far_as_known(conf, profile))
}

/// The card of this device.
pub(crate) fn card(snapshot: &Snapshot, device: i32) -> Option<&Card> {
    snapshot.sidecar.as_ref()?.card(device)
}

/// What the process may hold on this card, if a share of it was set.
pub(crate) fn limit(card: Option<&Card>) -> Option<Bytes> {
    card?.limit
}

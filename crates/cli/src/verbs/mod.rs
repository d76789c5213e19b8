//! One file, or one folder, per verb.

pub(crate) mod demo;
pub(crate) mod diff;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod export;
pub(crate) mod generate;
pub(crate) mod inspect;
pub(crate) mod mcp;
pub(crate) mod plan;
pub(crate) mod lint;
pub(crate) mod replay;
pub(crate) mod rule;
pub(crate) mod run;
pub(crate) mod serve;
pub(crate) mod fit;
pub(crate) mod status;
pub(crate) mod top;
pub(crate) mod tune;
pub(crate) mod view;

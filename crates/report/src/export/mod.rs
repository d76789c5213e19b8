//! Recordings in the formats of other programs: Perfetto, flame graphs, tables.

mod protobuf;
mod perfetto;
mod folded;
mod speedscope;
mod parquet;

pub use folded::folded;
pub use parquet::parquet;
pub use perfetto::perfetto;
pub use speedscope::speedscope;

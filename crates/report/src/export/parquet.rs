//! Parquet: every allocation as a row, so that DuckDB, polars and pandas can be asked.

use std::sync::Arc;

use oomph_diagnose::allocations::{Row, Rows};
use oomph_diagnose::stacks_at_peak;
use oomph_engine::recording::Recording;
use oomph_trace::{Snapshot, StackId};
use parquet::basic::{Compression, GzipLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// The columns, in the order of [`write`].
const SCHEMA: &str = "message allocations {
    required int32 device;
    required int64 address;
    required int64 requested;
    required int64 size;
    required int64 stream;
    required binary pool (utf8);
    required int64 segment;
    optional int64 alloc_event;
    optional int64 alloc_time_us;
    optional int64 free_event;
    optional int64 free_time_us;
    optional binary class (utf8);
    optional binary file (utf8);
    optional int32 line;
    optional binary function (utf8);
    optional int64 stack_id;
    optional binary stack (utf8);
    optional int64 step;
    optional binary phase (utf8);
}";

/// How many rows are written together.
const GROUP: usize = 100_000;

/// The allocations of these recordings, and how many there are.
///
/// # Errors
/// Where the library refuses what it is given.
pub fn parquet(recordings: &[Recording]) -> Result<(Vec<u8>, usize)> {
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    // Its decoder is in every reader, and its encoder here is Rust.
    let properties = WriterProperties::builder().set_compression(Compression::GZIP(GzipLevel::default()));
    let mut out = Vec::new();
    let mut file = SerializedFileWriter::new(&mut out, schema, Arc::new(properties.build()))?;
    let mut count = 0;
    for recording in recordings {
        let mut rows = Rows::of(recording);
        loop {
            let some: Vec<Row> = rows.by_ref().take(GROUP).collect();
            if some.is_empty() {
                break;
            }
            count += some.len();
            let mut group = file.next_row_group()?;
            write(&mut group, &some, &recording.snapshot)?;
            group.close()?;
        }
    }
    file.close()?;
    Ok((out, count))
}

/// A group of rows under way.
type Group<'a, 'b> = SerializedRowGroupWriter<'a, &'b mut Vec<u8>>;

fn write(group: &mut Group<'_, '_>, rows: &[Row], snapshot: &Snapshot) -> Result<()> {
    let stack = |stack: StackId| stacks_at_peak::frames(snapshot, Some(stack)).join(";");
    let line = |row: &Row| row.line.clone();
    column::<Int32Type>(group, rows, |row| Some(row.device))?;
    number(group, rows, |row| Some(row.addr.0))?;
    number(group, rows, |row| Some(row.requested.0))?;
    number(group, rows, |row| Some(row.size.0))?;
    number(group, rows, |row| Some(row.stream))?;
    text(group, rows, |row| Some(row.pool.clone()))?;
    number(group, rows, |row| Some(row.segment.0))?;
    number(group, rows, |row| row.alloc_event.map(|event| u64::from(event.0)))?;
    number(group, rows, |row| row.alloc_time_us)?;
    number(group, rows, |row| row.free_event.map(|event| u64::from(event.0)))?;
    number(group, rows, |row| row.free_time_us)?;
    text(group, rows, |row| row.class.map(|class| class.name().to_owned()))?;
    text(group, rows, |row| line(row).map(|line| line.file))?;
    column::<Int32Type>(group, rows, |row| i32::try_from(row.line.as_ref()?.line).ok())?;
    text(group, rows, |row| line(row).map(|line| line.function))?;
    number(group, rows, |row| row.stack.map(|stack| u64::from(stack.0)))?;
    text(group, rows, |row| row.stack.map(stack))?;
    number(group, rows, |row| row.step)?;
    text(group, rows, |row| row.phase.map(|phase| phase.name().to_owned()))
}

/// The next column, of numbers. What is beyond 2^63 cannot be told from others; nothing that is real is.
fn number(group: &mut Group<'_, '_>, rows: &[Row], value: impl Fn(&Row) -> Option<u64>) -> Result<()> {
    column::<Int64Type>(group, rows, |row| value(row).map(|value| i64::try_from(value).unwrap_or(i64::MAX)))
}

/// The next column, of texts.
fn text(group: &mut Group<'_, '_>, rows: &[Row], value: impl Fn(&Row) -> Option<String>) -> Result<()> {
    column::<ByteArrayType>(group, rows, |row| value(row).map(|text| ByteArray::from(text.into_bytes())))
}

/// The next column. Where the schema says that it is always there, it is.
fn column<T: DataType>(
    group: &mut Group<'_, '_>,
    rows: &[Row],
    value: impl Fn(&Row) -> Option<T::T>,
) -> Result<()> {
    let Some(mut column) = group.next_column()? else { return Ok(()) };
    let values: Vec<Option<T::T>> = rows.iter().map(value).collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let there: Vec<T::T> = values.into_iter().flatten().collect();
    column.typed::<T>().write_batch(&there, Some(&levels), None)?;
    column.close()
}

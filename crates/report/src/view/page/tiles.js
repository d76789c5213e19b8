// Tiles out of bytes. The format is described in the crate `view`, in encode.rs.

const MAGIC = 0x766d6f6f;
const VERSION = 1;
/** Columns of a tile of the timeline. */
export const TILE = 512;
/** Stands for blocks that were merged. */
export const MERGED = 0xffffffff;

class Reader {
  constructor(buffer, kind) {
    const head = new DataView(buffer);
    if (head.getUint32(0, true) !== MAGIC || head.getUint16(4, true) !== VERSION || head.getUint16(6, true) !== kind) {
      throw new Error("this tile is of another version of oomph");
    }
    this.buffer = buffer;
    this.numbers = [8, 12, 16, 20].map((at) => head.getUint32(at, true));
    this.at = 24;
  }

  take(Type, length) {
    this.at = Math.ceil(this.at / 8) * 8;
    const values = new Type(this.buffer, this.at, length);
    this.at += values.byteLength;
    return values;
  }
}

/** A tile of the timeline: columns of buckets. */
export function timelineTile(buffer) {
  const reader = new Reader(buffer, 1);
  const [length, groups, level, tile] = reader.numbers;
  const floats = () => reader.take(Float64Array, length);
  const found = { length, level, tile, activeMin: floats(), activeMax: floats(), reservedMin: floats(), reservedMax: floats() };
  found.groups = Array.from({ length: groups }, floats);
  found.at = reader.take(Uint32Array, length);
  return found;
}

/** A tile of the map: rectangles in slots and units. */
export function mapTile(buffer) {
  const reader = new Reader(buffer, 2);
  const [held, blocks, undrawn] = reader.numbers;
  const [undrawnBytes] = reader.take(Float64Array, 1);
  const merged = reader.take(Float64Array, 8);
  const rects = (length) => ({
    length,
    from: reader.take(Uint32Array, length),
    to: reader.take(Uint32Array, length),
    low: reader.take(Uint32Array, length),
    high: reader.take(Uint32Array, length),
  });
  const found = { held: rects(held), blocks: rects(blocks), merged, undrawn, undrawnBytes };
  found.blocks.id = reader.take(Uint32Array, blocks);
  found.blocks.group = reader.take(Uint8Array, blocks);
  found.blocks.filled = reader.take(Uint8Array, blocks);
  return found;
}

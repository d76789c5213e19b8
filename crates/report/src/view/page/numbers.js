// Numbers as people read them.

/** Bytes as oomph writes them everywhere: 5.84 GiB. */
export function size(bytes) {
  const units = ["B", "KiB", "MiB", "GiB"];
  let place = 0;
  let value = bytes;
  while (value >= 1024 && place < units.length - 1) {
    value /= 1024;
    place += 1;
  }
  return place === 0 ? `${bytes} B` : `${value.toFixed(2)} ${units[place]}`;
}

/** A size on an axis, without decimals that say nothing. */
export function shortSize(bytes) {
  return bytes === 0 ? "0" : size(bytes).replace(/\.?0+ /, " ");
}

/** A count with its digits in groups: 35,846. */
export function count(number) {
  return String(Math.round(number)).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** A count and its noun: 1 block, 2 blocks. */
export function counted(number, noun) {
  return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A time since the start, in the unit that fits. */
export function duration(microseconds) {
  if (microseconds < 1e3) return `${Math.round(microseconds)} µs`;
  if (microseconds < 1e6) return `${(microseconds / 1e3).toFixed(1)} ms`;
  if (microseconds < 120e6) return `${(microseconds / 1e6).toFixed(2)} s`;
  return `${(microseconds / 60e6).toFixed(1)} min`;
}

/** Round steps of an axis: about `wanted` of them over `length`. */
export function roundStep(length, wanted, base) {
  const rough = Math.max(length / wanted, Number.MIN_VALUE);
  if (base === 2) return 2 ** Math.ceil(Math.log2(rough));
  const power = 10 ** Math.floor(Math.log10(rough));
  return [1, 2, 5, 10].map((factor) => factor * power).find((step) => step >= rough);
}

// Where answers come from: the server that served the page, or the page itself.

const KEPT = 400;

function decoded(text) {
  const letters = atob(text);
  const bytes = new Uint8Array(letters.length);
  for (let at = 0; at < letters.length; at += 1) bytes[at] = letters.charCodeAt(at);
  return bytes;
}

/** Answers by key. What was asked before is answered at once. */
export class Source {
  constructor() {
    const data = document.getElementById("data").textContent.trim();
    this.isFile = data.length > 0;
    this.leftOut = [];
    this.answers = {};
    this.waiting = new Map();
    this.kept = new Map();
    if (this.isFile) {
      const [index, packed] = data.split("\n");
      const found = JSON.parse(new TextDecoder().decode(decoded(index)));
      this.answers = found.answers;
      this.leftOut = found.left_out;
      this.packed = decoded(packed || "");
      document.getElementById("data").textContent = "";
    }
  }

  /** Whether an answer is to be had; a server answers everything. */
  has(key) {
    return !this.isFile || key in this.answers;
  }

  /** The bytes of an answer, or null where there is none. */
  async bytes(key) {
    if (this.kept.has(key)) return this.kept.get(key);
    if (!this.waiting.has(key)) {
      this.waiting.set(key, this.ask(key).finally(() => this.waiting.delete(key)));
    }
    return this.waiting.get(key);
  }

  /** An answer that is a document, or null. */
  async json(key) {
    const bytes = await this.bytes(key);
    return bytes === null ? null : JSON.parse(new TextDecoder().decode(bytes));
  }

  async ask(key) {
    const bytes = this.isFile ? await this.unpack(key) : await this.fetch(key);
    if (bytes !== null) {
      this.kept.set(key, bytes);
      if (this.kept.size > KEPT) this.kept.delete(this.kept.keys().next().value);
    }
    return bytes;
  }

  async fetch(key) {
    try {
      const answer = await fetch(`data/${key}`);
      return answer.ok ? await answer.arrayBuffer() : null;
    } catch {
      this.isLost = true;
      if (this.whenLost) this.whenLost();
      return null;
    }
  }

  async unpack(key) {
    const place = this.answers[key];
    if (!place) return null;
    const packed = this.packed.subarray(place[0], place[0] + place[1]);
    const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate-raw"));
    return new Response(stream).arrayBuffer();
  }
}

/**
 * Code that makes modules of WebAssembly byte by byte, as text: it runs in isolates, as `w`. Only
 * what a test needs is there; the format is that of
 * https://webassembly.github.io/spec/core/binary/.
 */
export const WASM_MODULES = `
const w = (() => {
  const leb = (n) => { const all = []; do { const low = n & 0x7f; n >>>= 7; all.push(n === 0 ? low : low | 0x80); } while (n !== 0); return all; };
  const join = (...parts) => {
    const all = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
    let at = 0;
    for (const part of parts) { all.set(part, at); at += part.length; }
    return all;
  };
  const repeat = (n, bytes) => { const all = new Uint8Array(n * bytes.length); for (let i = 0; i < n; i++) all.set(bytes, i * bytes.length); return all; };
  const section = (id, ...parts) => { const all = join(...parts); return join([id], leb(all.length), all); };
  const list = (items) => join(leb(items.length), ...items);
  const name = (text) => [...leb(text.length), ...[...text].map((c) => c.charCodeAt(0))];
  const module = (...sections) => join([0, 0x61, 0x73, 0x6d, 1, 0, 0, 0], ...sections);
  const fn = (locals, ...parts) => { const all = join(list(locals), ...parts, [0x0b]); return join(leb(all.length), all); };
  const locals = (n) => [...leb(n), 0x7e];
  const table = (n) => section(4, [1, 0x70, 0], leb(n));
  const VOID = section(1, [1, 0x60, 0, 0]);
  const F = section(7, list([[...name('f'), 0, 0]]));
  const one = (body, tables = [], name_ = F) => module(VOID, section(3, [1, 0]), ...tables, name_, section(10, list([body])));
  const instance = (bytes, imports) => new WebAssembly.Instance(new WebAssembly.Module(bytes), imports);
  const go = (bytes) => instance(bytes).exports.f();
  const LOOP = [0x03, 0x40, 0x0c, 0, 0x0b];
  // How a function goes on that has grown its memory: for ever, or until it is refused.
  const FOREVER = [0x1a, 0x0c, 0];
  const UNTIL_REFUSED = [0x41, 0, 0x4e, 0x0d, 0];
  const grown = (pages, then) => fn([], [0x03, 0x40], pages, [0x40, 0], then, [0x0b]);
  const MEMORY = section(5, [1, 0, 1]);
  const growing = (pages, then, exported = 'f') =>
    module(VOID, section(3, [1, 0]), MEMORY, section(7, list([[...name(exported), 0, 0]])), section(10, list([grown(pages, then)])));
  return {
    leb, repeat, section, module, fn, locals, table, one, instance, go, LOOP, FOREVER, UNTIL_REFUSED, growing,
    starting: (body) => module(VOID, section(3, [1, 0]), section(8, [0]), section(10, list([fn([], body)]))),
    growingAtStart: () => module(VOID, section(3, [1, 0]), MEMORY, section(8, [0]), section(10, list([grown([0x41, 16], UNTIL_REFUSED)]))),
    filling: () => module(VOID, section(3, [1, 0]), section(5, [1, 0, ...leb(256)]), F,
      section(10, list([fn([], [0x03, 0x40, 0x41, 0, 0x41, 1, 0x41], [0x80, 0x80, 0x80, 0x08], [0xfc, 11, 0, 0x0c, 0, 0x0b])]))),
    many: (n) => module(VOID, section(3, leb(n), repeat(n, [0])), F, section(10, leb(n), repeat(n, [2, 0, 0x0b]))),
    types: (from, n) => {
      const kinds = [0x7f, 0x7e, 0x7d, 0x7c];
      return module(section(1, list(Array.from({ length: n }, (_, i) => [0x60, 10, ...Array.from({ length: 10 }, (_, at) => kinds[((from + i) >> (2 * at)) & 3]), 0]))));
    },
    passing: (f) => instance(module(VOID, section(2, list([[0, 0, 0, 0]])), F), { '': { '': f } }).exports.f,
    // A module of so many bytes, most of them in a section that means nothing.
    sized: (bytes) => { const rest = bytes - 8 - 1 - 4 - 1; return module([0], leb(rest + 1), [0], new Uint8Array(rest)); },
    importing: () => module(section(2, list([[0, ...name('m'), 2, 0, 1]]))),
    cycle: () => {
      const bytes = module(VOID, section(2, list([[0, 0, 0, 0]])), section(3, [1, 0]), section(7, list([[...name('f'), 0, 1]])), section(10, list([fn([], [0x10, 0])])));
      const second = {};
      const first = instance(bytes, { '': { '': () => second.f() } }).exports.f;
      second.f = instance(bytes, { '': { '': first } }).exports.f;
      second.f();
    },
  };
})();`;

/**
 * Modules of WebAssembly that attack their cell: each ends with its own answer, as code that does
 * the same would, while a neighbour in the cell is served and the cell lives on.
 */
import { setTimeout } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Installed, TestService } from '../support/service.ts';
import { WASM_MODULES } from '../support/wasm-modules.ts';

const ATTACKER = `${WASM_MODULES}
  const kept = [];
  const AsyncFunction = (async () => {}).constructor;
  export default {
    async fetch(request) {
      const run = new AsyncFunction('w', 'kept', await request.text());
      try { return new Response(String(await run(w, kept))); } catch (error) { return new Response(error.name + ': ' + error.message); }
    },
  };`;

const CPU = [503, 'exceededCpu'];
const MEMORY = [503, 'exceededMemory'];
/** It caught the refusal of memory and answered; its call counts as one that ran out of it. */
const REFUSED = 'exceededMemory';
const answered = (text: string | RegExp) => [
  200,
  typeof text === 'string' ? text : (expect.stringMatching(text) as unknown),
];
const refused = (why: RegExp) => answered(new RegExp(`^CompileError: WebAssembly: .*${why.source}`));

type Row = [attack: string, code: string, answer: readonly unknown[], outcome?: typeof REFUSED];

const TIME: readonly Row[] = [
  ['a loop without end', 'w.go(w.one(w.fn([], w.LOOP)));', CPU],
  ['a loop in the start function', 'w.instance(w.starting(w.LOOP));', CPU],
  ['a loop that grows a memory by nothing', 'w.go(w.growing([0x41, 0], w.FOREVER));', CPU],
  ['fills of all memory without end', 'w.go(w.filling());', CPU],
  [
    'exceptions from imports without end',
    'const f = w.passing(() => { throw 1; }); for (;;) try { f(); } catch {}',
    CPU,
  ],
  [
    'modules that are compiled without end',
    'const b = w.many(5_000); for (;;) new WebAssembly.Module(b);',
    CPU,
  ],
  [
    'modules that are validated without end',
    'const b = w.many(50_000); for (;;) WebAssembly.validate(b);',
    CPU,
  ],
  ['promises of modules without end', 'const b = w.many(5_000); for (;;) await WebAssembly.compile(b);', CPU],
  [
    'instances without end',
    'const m = new WebAssembly.Module(w.many(5_000)); for (;;) new WebAssembly.Instance(m);',
    CPU,
  ],
  [
    'a recursion without end',
    'w.go(w.one(w.fn([], [0x10, 0])));',
    answered('RangeError: Maximum call stack size exceeded'),
  ],
  [
    'a recursion of large frames',
    'w.go(w.one(w.fn([w.locals(20_000)], [0x10, 0])));',
    answered(/^RangeError: Maximum call stack/),
  ],
  ['two instances that import each other', 'w.cycle();', answered(/^RangeError: Maximum call stack/)],
  ['a trap in the start function', 'w.instance(w.starting([0]));', answered(/^RuntimeError: unreachable/)],
];

const SIZE: readonly Row[] = [
  [
    '20,000 conditions over 5,000 locals',
    'w.go(w.one(w.fn([w.locals(5_000)], w.repeat(20_000, [0x41, 0, 4, 0x40, 0x0b]))));',
    refused(/branches/),
  ],
  [
    '20,000 conditions, each in the one before',
    'w.go(w.one(w.fn([w.locals(5_000)], w.repeat(10_000, [0x41, 0, 4, 0x40]), w.repeat(10_000, [0x0b]))));',
    refused(/branches/),
  ],
  [
    '20,000 branches over a high stack',
    'w.go(w.one(w.fn([], w.repeat(20_000, [0x41, 1]), [2, 0x40], w.repeat(20_000, [0x41, 0, 0x0d, 0]), [0x0b], w.repeat(20_000, [0x1a]))));',
    refused(/branches/),
  ],
  [
    '20,000 loops over 5,000 locals',
    'w.go(w.one(w.fn([w.locals(5_000)], w.repeat(20_000, [3, 0x40, 0x0b]))));',
    refused(/branches/),
  ],
  ['50,000 locals', 'w.go(w.one(w.fn([w.locals(50_000)])));', refused(/more than 20000 locals/)],
  [
    'blocks 100,000 deep',
    'w.go(w.one(w.fn([], w.repeat(100_000, [2, 0x40]), w.repeat(100_000, [0x0b]))));',
    refused(/nested/),
  ],
  [
    '100,000 indirect calls in a function',
    'w.go(w.one(w.fn([], w.repeat(100_000, [0x41, 0, 0x11, 0, 0])), [w.table(1)]));',
    refused(/too large/),
  ],
  [
    'a branch to a million places',
    'w.go(w.one(w.fn([], [2, 0x40, 0x41, 0, 0x0e], w.leb(1_000_000), w.repeat(1_000_001, [0]), [0x0b])));',
    refused(/too large/),
  ],
  ['50,001 functions', 'w.instance(w.many(50_001));', refused(/at most 50000/)],
  [
    '1,000 parameters',
    'w.instance(w.module(w.section(1, [1, 0x60], w.leb(1_000), w.repeat(1_000, [0x7f]), [0])));',
    refused(/1000 parameters/),
  ],
  [
    'more and more types',
    'for (let i = 0; ; i += 1_000) w.instance(w.types(i, 1_000));',
    refused(/too many types/),
  ],
  [
    'a module of 8 MiB and a byte',
    'const b = w.sized(8 * 2 ** 20); new WebAssembly.Module(b); new WebAssembly.Module(w.sized(b.length + 1));',
    refused(/8388609 bytes.*wasmModuleBytes/),
  ],
  ['shared memory', 'w.instance(w.module(w.section(5, [1, 3, 1, 1])));', refused(/Shared/)],
  [
    'shared memory of the constructor',
    'new WebAssembly.Memory({ initial: 1, maximum: 1, shared: true });',
    answered(/^TypeError: .*Shared/),
  ],
  ['memory of 64 bits', 'w.instance(w.module(w.section(5, [1, 4, 1])));', refused(/64 bits/)],
  ['two memories', 'w.instance(w.module(w.section(5, [2, 0, 1, 0, 1])));', refused(/at most 1/)],
  ['instructions of threads', 'w.go(w.one(w.fn([], [0xfe, 3, 0])));', refused(/0xfe/)],
  [
    'types of collected values',
    'w.instance(w.module(w.section(1, [1, 0x5e, 0x7f, 1])));',
    refused(/collected/),
  ],
  ['a table of ten million', 'w.instance(w.module(w.table(10_000_000)));', refused(/entries/)],
  [
    'a table of the constructor of ten million',
    "new WebAssembly.Table({ element: 'anyfunc', initial: 1e7 });",
    answered(/^RangeError: .*entries/),
  ],
  [
    'a table that grows without end',
    "const t = new WebAssembly.Table({ element: 'externref', initial: 1 }); for (;;) t.grow(10_000);",
    answered(/^RangeError/),
  ],
];

const SPACE: readonly Row[] = [
  [
    'memory.grow to the limit in a loop',
    'return w.go(w.growing([0x41, 16], w.UNTIL_REFUSED));',
    answered('undefined'),
    REFUSED,
  ],
  [
    'memory.grow to the limit in the start function',
    'return typeof w.instance(w.growingAtStart());',
    answered('object'),
    REFUSED,
  ],
  [
    'grow of the constructor to the limit',
    'const m = new WebAssembly.Memory({ initial: 0 }); for (;;) m.grow(1);',
    answered(/^RangeError/),
    REFUSED,
  ],
  ['a memory of 4 GiB', 'new WebAssembly.Memory({ initial: 65_536 });', answered(/^RangeError/), REFUSED],
  [
    'a memory of its own of 4 GiB',
    'w.instance(w.module(w.section(5, [1, 0], w.leb(65_536))));',
    answered(/^RangeError/),
    REFUSED,
  ],
  [
    '1,000 memories',
    'for (let i = 0; i < 1_000; i++) kept.push(new WebAssembly.Memory({ initial: 1 }));',
    answered(/^RangeError/),
    REFUSED,
  ],
  [
    '1,000 memories that nothing holds',
    'for (let i = 0; i < 1_000; i++) new WebAssembly.Memory({ initial: 1 });',
    answered('undefined'),
  ],
  [
    'buffers of memories that nothing holds',
    'for (let i = 0; i < 1_000; i++) kept.push(new WebAssembly.Memory({ initial: 16 }).buffer);',
    answered(/^RangeError/),
    REFUSED,
  ],
  [
    'functions of instances that nothing holds',
    'const m = new WebAssembly.Module(w.growing([0x41, 1], w.UNTIL_REFUSED)); for (let i = 0; i < 1_000; i++) kept.push(new WebAssembly.Instance(m).exports.f);',
    answered(/^RangeError/),
    REFUSED,
  ],
  [
    'functions of modules that nothing holds',
    'for (let i = 0; i < 1_000; i++) kept.push(w.instance(w.many(10_000 + i)).exports.f);',
    answered(/^RangeError/),
    REFUSED,
  ],
  [
    'modules that are kept',
    'for (let i = 0; ; i++) kept.push(new WebAssembly.Module(w.sized(1_000_000 + i)));',
    answered(/^RangeError/),
    REFUSED,
  ],
  [
    '10,000 tables of 100,000',
    "for (let i = 0; i < 10_000; i++) kept.push(new WebAssembly.Table({ element: 'anyfunc', initial: 100_000 }));",
    MEMORY,
  ],
  [
    'a table of its own in each of 10,000 instances',
    'const m = new WebAssembly.Module(w.module(w.table(100_000))); for (let i = 0; i < 10_000; i++) kept.push(new WebAssembly.Instance(m));',
    MEMORY,
  ],
];

const ESCAPES: readonly Row[] = [
  [
    'a length that hides code from all but the engine',
    `const b = w.growing([0x41, 16], w.UNTIL_REFUSED); Object.defineProperty(Object.getPrototypeOf(Uint8Array.prototype), 'length', { get: () => 8 }); return w.go(b);`,
    answered('undefined'),
    REFUSED,
  ],
  [
    'replaced methods of arrays and texts',
    `const b = w.growing([0x41, 16], w.UNTIL_REFUSED); for (const { prototype } of [Array, String, Uint8Array, Int32Array, Map, WeakMap, Function]) for (const key of ['push', 'set', 'get', 'charCodeAt', 'subarray', 'call', 'apply', Symbol.iterator]) if (Object.hasOwn(prototype, key)) { const { value } = Object.getOwnPropertyDescriptor(prototype, key); Object.defineProperty(prototype, key, { value() { kept[kept.length] = arguments; return Reflect.apply(value, this, arguments); } }); } w.go(b); return kept.flatMap((all) => [...all]).filter((one) => typeof one === 'function' && /native/.test(one) && /Module|Instance/.test(one.name)).length;`,
    answered('0'),
    REFUSED,
  ],
  [
    'the constructors behind prototypes',
    `const m = new WebAssembly.Module(w.module()); const i = new WebAssembly.Instance(m); return [m.constructor === WebAssembly.Module, i.constructor === WebAssembly.Instance, new WebAssembly.Memory({ initial: 0 }).constructor === WebAssembly.Memory, Object.getOwnPropertyNames(WebAssembly.Memory.prototype), 'promising' in WebAssembly, 'Suspending' in WebAssembly].join();`,
    answered('true,true,true,constructor,grow,buffer,false,false'),
  ],
  [
    'the exports of the gate',
    `const m = new WebAssembly.Module(w.growingAtStart()); return JSON.stringify([WebAssembly.Module.exports(m), Object.getOwnPropertyNames(new WebAssembly.Instance(m).exports)]);`,
    answered('[[],[]]'),
    REFUSED,
  ],
  [
    'an export with the name of one of the gate',
    String.raw`w.instance(w.growing([0x41, 1], [0x1a], '\0m'));`,
    answered(/^CompileError/),
  ],
  [
    'an import that changes while it is read',
    `let n = 0; const m = new WebAssembly.Memory({ initial: 1 }); const asked = { get m() { n++; return m; } }; w.instance(w.importing(), { '': asked }); return n;`,
    answered('1'),
  ],
  [
    'a module that ends anywhere',
    `const b = w.growing([0x41, 16], w.UNTIL_REFUSED); let n = 0; for (let i = 0; i < b.length; i++) try { new WebAssembly.Module(b.slice(0, i)); n++; } catch (error) { if (!(error instanceof WebAssembly.CompileError)) return String(error); } return n;`,
    answered(/^[1-5]$/),
  ],
  [
    'a module with any byte changed',
    `const b = w.growing([0x41, 16], w.UNTIL_REFUSED); for (let i = 8; i < b.length; i++) for (const byte of [0, 1, 0x40, 0x7f, 0x80, 0xff]) { const c = b.slice(); c[i] = byte; try { new WebAssembly.Module(c); } catch (error) { if (!(error instanceof WebAssembly.CompileError) && !(error instanceof RangeError)) return error.stack; } }`,
    answered('undefined'),
  ],
];

let annex: TestService;
let neighbour: Installed;
let cells: readonly (number | undefined)[];
beforeAll(async () => {
  annex = await TestService.start({
    // On a busy machine a call waits for long until it has used its CPU.
    limits: {
      callCpuMs: 500,
      callWallMs: 240_000,
      firstByteMs: 240_000,
      isolateHeapMib: 64,
      breachesBeforeCoolDown: 1_000,
    },
  });
  await annex.publish('attacker', { 'index.js': ATTACKER }, 'entry: request\n');
  neighbour = await annex.deploy('neighbour', `export default { fetch: () => new Response('served') };`);
  await fetch(neighbour.endpoint);
  cells = annex.cellPids;
});
afterAll(() => annex.stop());

for (const [attack, body, [status, text], outcome] of [...TIME, ...SIZE, ...SPACE, ...ESCAPES])
  test(attack, async () => {
    // An isolate of its own, which no attack before it has changed.
    const attacker = await annex.install('attacker');
    const before = await outOfMemory();
    const answer = fetch(attacker.endpoint, { method: 'POST', body });
    const ended = answer.then(() => true);
    do expect(await (await fetch(neighbour.endpoint)).text()).toBe('served');
    while (!(await Promise.race([ended, setTimeout(20, false)])));
    const said = await (await answer).text();
    const { error } = status === 200 ? {} : (JSON.parse(said) as { error?: { outcome?: string } });
    expect([(await answer).status, error?.outcome ?? said]).toEqual([status, text]);
    if (outcome !== undefined) await expect.poll(outOfMemory).toBe(before + 1);
    // An installation that spins may have moved to a cell of its own; none has died.
    expect(annex.cellPids).toEqual(expect.arrayContaining([...cells]));
  });

const outOfMemory = () => annex.metric('annex_calls_total{outcome="exceededMemory"}');

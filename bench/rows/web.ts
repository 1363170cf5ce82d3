/**
 * The cost of the web platform in an isolate beside Node: the same snippets run in Node, in a cell,
 * and in a cell whose V8 interprets (`--cell-jitless on`). The clock of an isolate has whole
 * milliseconds, so each snippet repeats its work for several. Node always compiles, so the second
 * ratio includes the cost of interpreting.
 */
import type { Bench } from '../figures.ts';
import { type Installed, withRig } from '../rig.ts';

/** The best of so many counts. */
const RUNS = 3;
/** Calls are not ended for their time. */
const LIMITS = { callCpuMs: 60_000, callWallMs: 60_000, firstByteMs: 60_000 };
/** Milliseconds below which the clock of an isolate says too little. */
const CLOCK_MS = 0.5;

interface Snippet {
  readonly name: string;
  /** How often `run` is repeated in one measurement. */
  readonly times: number;
  /** Statements before the measurement. */
  readonly before?: string;
  /** The body of an async function, `i` counts. */
  readonly run: string;
}

const HMAC = `
  const key = await crypto.subtle.importKey('raw', new Uint8Array(32).fill(7), { name: 'HMAC', hash: 'SHA-256' }, false, ['sign']);
  const data = new Uint8Array(256);
  const sign = () => crypto.subtle.sign('HMAC', key, data);`;

const SNIPPETS: readonly Snippet[] = [
  {
    name: 'atob of 5 MB',
    times: 5,
    before: `const text = btoa('abcdefgh\\xff'.repeat(420_000));`,
    run: 'atob(text);',
  },
  {
    name: 'new URL, plain',
    times: 50_000,
    run: `new URL('https://api.example.com/v1/users/' + i + '?limit=10');`,
  },
  { name: 'new URL, fragment', times: 50_000, run: `new URL('https://api.example.com/docs#part-' + i);` },
  {
    name: 'new URL, beside a base',
    times: 50_000,
    run: `new URL('/v1/users/' + i, 'https://api.example.com/x/y');`,
  },
  { name: 'new URL, address', times: 50_000, run: `new URL('http://127.0.0.1:8080/v1/' + i);` },
  {
    name: 'structuredClone of a million numbers',
    times: 2,
    before: 'const numbers = Array.from({ length: 1_000_000 }, (_, i) => i / 2);',
    run: 'structuredClone(numbers);',
  },
  {
    name: 'structuredClone of 20,000 objects',
    times: 2,
    before: `const objects = Array.from({ length: 20_000 }, (_, id) => ({ id, name: 'n' + id, tags: ['a', 'b'] }));`,
    run: 'structuredClone(objects);',
  },
  { name: '500 HMACs, one after the other', times: 500, before: HMAC, run: 'await sign();' },
  {
    name: '1,600 HMACs, 16 together',
    times: 100,
    before: HMAC,
    run: 'await Promise.all(Array.from({ length: 16 }, sign));',
  },
];

/** The body of an async function that returns the milliseconds of a snippet. */
const measuring = ({ before = '', run, times }: Snippet): string => {
  const awaits = run.includes('await ') ? 'async ' : '';
  return `${before}
    const work = ${awaits}() => { for (let i = 0; i < ${times}; i++) { ${run} } };
    const now = () => (typeof process === 'undefined' ? Date.now() : performance.now());
    const from = now();
    await work();
    return now() - from;`;
};

const AsyncFunction = (async () => {}).constructor as new (body: string) => () => Promise<number>;
const inNode = (snippet: Snippet): Promise<number> => new AsyncFunction(measuring(snippet))();

/** Runs the posted script, and answers with its result. */
const EVALUATOR = `
  const AsyncFunction = (async () => {}).constructor;
  export default { async fetch(request) {
    const form = await request.formData();
    return new Response(String(await new AsyncFunction(await form.get('fetch-body').text())()));
  } };`;

export const web: Bench = async function* ({ part }) {
  const chosen = SNIPPETS.filter(({ name }) => name.includes(part));
  for (const [how, jitless, aim] of [
    ['', 'off', { most: 5 }],
    [', interpreted', 'on', undefined],
  ] as const)
    yield* await withRig(
      { flags: ['--cells', '1', '--cell-jitless', jitless], limits: LIMITS },
      async (rig) => {
        await rig.client.publish('evaluator', { 'index.js': EVALUATOR });
        const cell = await rig.client.install('evaluator');
        const found = [];
        for (const snippet of chosen) {
          const [annex, node] = await best(snippet, cell);
          const each = (ms: number) => (Math.max(ms, CLOCK_MS) * 1_000) / snippet.times;
          const row = `${snippet.name}${how}`;
          found.push({
            row,
            unit: 'µs',
            annex: each(annex),
            to: 'Node',
            other: each(node),
            ...(aim && { aim }),
          });
        }
        return found;
      },
    );
};

async function best(snippet: Snippet, { url }: Installed): Promise<[cell: number, node: number]> {
  const found: [number[], number[]] = [[], []];
  for (let run = 0; run < RUNS; run += 1) {
    found[1].push(await inNode(snippet));
    const response = await fetch(url, { method: 'POST', body: measuring(snippet) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${snippet.name}: ${response.status} ${text}`);
    found[0].push(Number(text));
  }
  return [Math.min(...found[0]), Math.min(...found[1])];
}

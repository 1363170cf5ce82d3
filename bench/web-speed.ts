/**
 * `npm run bench:web`: the cost of the web platform in an isolate compared with Node, as ratios.
 *
 * The same snippets run in Node, in a cell, and in a cell whose V8 interprets (`--cell-jitless
 * on`), in turns; the best run of each counts. The clock of an isolate has whole milliseconds, so
 * each snippet repeats its work for several. Node always compiles, so the second ratio includes the
 * cost of interpreting.
 */
import { startTemporaryService, type TemporaryService } from '../src/local/temporary-service.ts';

const ROUNDS = 5;
const RATIO_AIM = 5;
/** Calls are not ended for their time. */
const LIMITS = { callCpuMs: 60_000, callWallMs: 60_000, firstByteMs: 60_000 };

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

/** A service with the evaluator installed. */
class Cell {
  readonly #running: TemporaryService;
  readonly #endpoint: string;

  private constructor(running: TemporaryService, endpoint: string) {
    this.#running = running;
    this.#endpoint = endpoint;
  }

  static async start(flags: readonly string[]): Promise<Cell> {
    const running = await startTemporaryService({ flags: ['--cells', '1', ...flags], limits: LIMITS });
    const { service } = running;
    const ask = async (path: string, body: FormData | object): Promise<Record<string, unknown>> => {
      const isForm = body instanceof FormData;
      const response = await fetch(`${service.controlUrl}${path}`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${service.firstAdminToken}`,
          ...(!isForm && { 'content-type': 'application/json' }),
        },
        body: isForm ? body : JSON.stringify(body),
      });
      if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
      return (await response.json()) as Record<string, unknown>;
    };
    const form = new FormData();
    form.append('manifest', MANIFEST);
    form.append('files', new Blob([EVALUATOR]), 'index.js');
    await ask('/v1/integrations', form);
    const { urls } = await ask('/v1/integrations/evaluator/installations', { organization: 'bench' });
    return new Cell(running, (urls as { publicEndpoint: string }).publicEndpoint);
  }

  async measure(snippet: Snippet): Promise<number> {
    const response = await fetch(this.#endpoint, { method: 'POST', body: measuring(snippet) });
    const text = await response.text();
    if (!response.ok) throw new Error(`${snippet.name}: ${response.status} ${text}`);
    return Number(text);
  }

  end(): Promise<void> {
    return this.#running.end();
  }
}

const MANIFEST = `name: evaluator
title: Evaluator
description: for a benchmark
organization: bench
visibility: public
scopes: []
script: index.js
`;

async function main(): Promise<void> {
  const cell = await Cell.start([]);
  const jitless = await Cell.start(['--cell-jitless', 'on']);
  try {
    const rows: Record<string, Record<string, string | number>> = {};
    for (const snippet of SNIPPETS) rows[snippet.name] = await compare(snippet, cell, jitless);
    console.table(rows);
    console.log(
      `ratio: time in a cell divided by time in Node; the aim is at most ${RATIO_AIM} where V8 compiles`,
    );
  } finally {
    await Promise.all([cell.end(), jitless.end()]);
  }
}

async function compare(
  snippet: Snippet,
  cell: Cell,
  jitless: Cell,
): Promise<Record<string, string | number>> {
  const best = { node: Infinity, cell: Infinity, jitless: Infinity };
  for (let round = 0; round < ROUNDS; round++) {
    best.node = Math.min(best.node, await inNode(snippet));
    best.cell = Math.min(best.cell, await cell.measure(snippet));
    best.jitless = Math.min(best.jitless, await jitless.measure(snippet));
  }
  const each = (ms: number) => `${((ms * 1_000) / snippet.times).toPrecision(3)} µs`;
  const ratio = (ms: number) => Number((ms / Math.max(best.node, 0.5)).toPrecision(2));
  return {
    node: each(best.node),
    cell: each(best.cell),
    ratio: ratio(best.cell),
    interpreted: each(best.jitless),
    'its ratio': ratio(best.jitless),
  };
}

await main();
process.exit(0);

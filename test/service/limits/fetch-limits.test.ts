/** The limits of an integration's fetches: number, size, time. */
import { createServer } from 'node:http';
import { afterAll, beforeAll } from 'vitest';
import { portOf, stop } from '../../support/http/egress.ts';
import { describeLimits, type LimitRow } from '../../support/limit-table.ts';

const LIMITS = {
  fetchesPerCall: 4,
  fetchesInFlightPerCall: 2,
  fetchRequestBodyBytes: 2_000,
  fetchResponseBodyBytes: 3_000,
  fetchRedirects: 2,
  fetchMs: 700,
  fetchesInFlightPerInstallation: 3,
  fetchHeaderBytes: 4_096,
};

/** Answers as its path says. */
const server = createServer((request, response) => {
  const [what = '', n = ''] = (request.url ?? '').split('/').slice(1);
  request.resume().on('end', () => {
    if (what === 'redirects' && Number(n) > 0)
      response.writeHead(302, { location: `/redirects/${Number(n) - 1}` }).end();
    else if (what === 'bytes') response.end('x'.repeat(Number(n)));
    else if (what === 'open') response.write('x');
    else if (what === 'after') setTimeout(() => response.end('late'), Number(n)).unref();
    else response.end('fine');
  });
});
let port = 0;
beforeAll(async () => {
  port = await portOf(server);
});
afterAll(() => stop(server));

const SOURCE = `
  import { createIntegration } from '@annex/sdk';
  const outcome = (run) => run().then((text) => text || 'fine', (error) => String(error));
  const read = async (url, init) => void (await (await fetch(url, init)).text());
  const routes = {
    async inTurn(base, n) { for (let i = 0; i < n; i++) await read(base); },
    async atOnce(base, n) { await Promise.all(Array.from({ length: n }, () => read(base))); },
    // Unread answers are in flight.
    async unread(base, n) { for (let i = 0; i < n; i++) await fetch(base + '/open'); },
    upload: (base, n) => read(base, { method: 'POST', body: 'x'.repeat(n) }),
    uploadStream: (base, n) => read(base, { method: 'POST', duplex: 'half', body: new Blob(['x'.repeat(n)]).stream() }),
    download: (base, n) => read(base + '/bytes/' + n),
    redirects: (base, n) => read(base + '/redirects/' + n),
    after: (base, n) => read(base + '/after/' + n),
    header: (base, n) => read(base, { headers: { x: 'y'.repeat(n) } }),
  };
  export default createIntegration({
    async fetch(request) {
      const [what, port, n] = new URL(request.url).pathname.split('/').slice(-3);
      return new Response(await outcome(() => routes[what]('http://127.0.0.1:' + port, Number(n))));
    },
  });`;

const ask =
  (what: string, n: number): LimitRow['within'] =>
  ({ endpoint }) =>
    fetch(`${endpoint}/${what}/${port}/${n}`);

/** A limit of `n`: `n` of something work, and one more fails with `message`. */
const row = (
  limit: LimitRow['limit'] & keyof typeof LIMITS,
  what: string,
  message: string,
  log = false,
): LimitRow => ({
  limit,
  within: ask(what, LIMITS[limit]),
  beyond: ask(what, LIMITS[limit] + 1),
  answer: new RegExp(`^TypeError: .*${message} \\(${limit}\\)`),
  ...(log && { log: new RegExp(`^fetch: .*${message} \\(${limit}\\)\\.$`) }),
});

const rows: LimitRow[] = [
  row('fetchesPerCall', 'inTurn', 'the limit is 4'),
  { ...row('fetchesInFlightPerCall', 'atOnce', ''), answer: /^fine$/ },
  row('fetchRequestBodyBytes', 'upload', 'the limit is 2000 bytes'),
  row('fetchRequestBodyBytes', 'uploadStream', 'the limit is 2000 bytes'),
  row('fetchResponseBodyBytes', 'download', 'the limit is 3,000 bytes', true),
  row('fetchRedirects', 'redirects', 'the limit is 2', true),
  {
    ...row('fetchMs', 'after', 'the limit is 700 ms', true),
    within: ask('after', 100),
    beyond: ask('after', 60_000),
  },
  {
    ...row('fetchHeaderBytes', 'header', 'the limit is 4 KiB', true),
    // Leaves room for its name and the four characters around name and value.
    within: ask('header', LIMITS.fetchHeaderBytes - 100),
  },
  row('fetchesInFlightPerInstallation', 'unread', 'the limit is 3', true),
];

describeLimits({
  source: SOURCE,
  limits: LIMITS,
  rows,
  flags: () => ['--egress-allow', `127.0.0.1:${port}`],
});

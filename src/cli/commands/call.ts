/**
 * `annex call`: sends a request to the public endpoint of an installation, as any client of it
 * does. The body of the answer goes to standard output, unchanged; status and headers go to
 * standard error.
 */
import Type from 'typebox';
import type { Annex, Installation, LogLine } from '../../../packages/client/src/index.ts';
import type { CommandContext } from '../command.ts';
import { type Command, defineCommand } from '../command.ts';
import { EXIT, Failure, UsageError } from '../terminal/failure.ts';
import { paint } from '../terminal/output.ts';
import { findInstallation, INSTALLATION_HELP, installationWord } from '../traffic/installation.ts';
import { piecesOf } from '../traffic/log-lines.ts';
import { givenBytes } from '../traffic/option-values.ts';

/** Bytes of an answer that `--json` holds. */
const BODY_BYTES_MAX = 8 * 1024 * 1024;
/** A line can be read a quarter of a second after it was written. */
const LINES_AFTER_MS = 600;
const LINES_MAX = 100;

const HEADER = /^(?<name>[!#$%&'*+.^_`|~\w-]+):\s*(?<value>.*)$/;

export const call: Command = defineCommand({
  name: 'call',
  summary: 'send a request to the endpoint of an installation',
  description: [
    'Sends a request to the public endpoint of an installation. The body of the answer is written to standard output as it came, status and headers to standard error.',
    'With -d the method is POST. A redirect is shown, not followed.',
  ],
  arguments: {
    installation: { help: `${INSTALLATION_HELP}; or the URL of an endpoint` },
    path: { help: 'path and query below the endpoint, as /orders?page=2', optional: true },
  },
  options: {
    method: { short: 'X', value: 'method', help: 'HTTP method' },
    data: { short: 'd', value: 'data', help: 'body: a text, @file, or @- for standard input' },
    header: { short: 'H', value: 'header', help: 'header, as "Name: value"', repeatable: true },
    logs: { help: 'then show what the code logged meanwhile' },
    fail: { help: 'exit with 1 if the status is 400 or more' },
  },
  examples: [
    { line: 'annex call hello', does: 'GET the endpoint of the only installation of hello' },
    {
      line: "annex call hello@acme /in -d '{\"a\":1}' -H 'Content-Type: application/json'",
      does: 'post JSON',
    },
    { line: 'annex call hello /upload -X PUT -d @photo.png --logs', does: 'send a file and see the log' },
  ],
  exits: { 0: 'the endpoint has answered', 1: 'no answer; with --fail, a status of 400 or more' },
  json: Type.Object({
    url: Type.String(),
    status: Type.Integer(),
    headers: Type.Array(Type.Tuple([Type.String(), Type.String()])),
    body: Type.String({ description: 'Text, or base64 where it is not UTF-8.' }),
    isBase64: Type.Boolean(),
    isWhole: Type.Boolean({ description: `False beyond ${BODY_BYTES_MAX} bytes.` }),
    durationMs: Type.Integer(),
    logs: Type.Optional(Type.Array(Type.Unknown())),
  }),
  async run(context, { installation: word, path, method, data, header, logs, fail }) {
    const { output } = context;
    const isUrl = /^https?:\/\//i.test(word);
    if (isUrl && logs)
      throw new UsageError('--logs needs an installation by name or id, not the URL of its endpoint.');
    const client = isUrl ? undefined : await context.client();
    const installation = client && (await findInstallation(client, installationWord(word)));
    const url = urlOf(installation?.urls.publicEndpoint ?? word, path);
    const begunAt = Date.now();
    const begun = performance.now();
    const answer = await send(context, url, {
      method: method ?? (data === undefined ? 'GET' : 'POST'),
      headers: headersOf(header),
      ...(data !== undefined && { body: await givenBytes(context, data) }),
    });
    const durationMs = Math.round(performance.now() - begun);
    if (!output.isJson) {
      showHead(context, answer, durationMs);
      for await (const piece of answer.body ?? []) await output.raw(piece as Uint8Array);
    }
    const body = output.isJson ? await bodyOf(answer) : { body: '', isBase64: false, isWhole: true };
    const lines =
      logs && client && installation ? await linesSince(client, installation, begunAt) : undefined;
    const { status } = answer;
    const value = { url: String(url), status, headers: [...answer.headers], ...body, durationMs };
    output.result({ ...value, ...(lines && { logs: lines }) }, () => {
      if (lines?.length === 0) output.talk(paint('dim', 'The code has logged nothing.'));
      for (const line of lines ?? []) output.talk(...piecesOf(line));
    });
    return fail && status >= 400 ? EXIT.failed : EXIT.ok;
  },
});

function urlOf(endpoint: string, path: string | undefined): URL {
  if (path === undefined) return new URL(endpoint);
  return new URL(
    `${endpoint.replace(/\/$/, '')}${path.startsWith('/') || path.startsWith('?') ? '' : '/'}${path}`,
  );
}

function headersOf(texts: readonly string[]): Headers {
  const headers = new Headers();
  for (const text of texts) {
    const { name, value } = HEADER.exec(text)?.groups ?? {};
    if (name === undefined || value === undefined)
      throw new UsageError(`"${text}" is not a header: write it as "Name: value".`);
    headers.append(name, value);
  }
  return headers;
}

async function send({ signal }: CommandContext, url: URL, init: RequestInit): Promise<Response> {
  try {
    return await fetch(url, { ...init, redirect: 'manual', signal });
  } catch (error) {
    if (signal.aborted) throw error;
    const cause = (error as { cause?: NodeJS.ErrnoException }).cause;
    if (error instanceof TypeError && cause === undefined) throw new UsageError(error.message);
    const why = cause?.code ?? cause?.message ?? String(error);
    throw new Failure(`${url.origin} cannot be reached (${why}).`, {
      code: 'ENDPOINT_UNREACHABLE',
      hint: 'The endpoint is on the public listener. Is its origin (--public-url of the service) right, and reachable from here?',
    });
  }
}

function showHead({ output }: CommandContext, { status, headers }: Response, durationMs: number): void {
  const style = status >= 500 ? 'red' : status >= 400 ? 'yellow' : 'green';
  output.talk(paint(style, `HTTP ${status}`), paint('dim', `  ${durationMs} ms`));
  for (const [name, value] of headers) output.talk(paint('dim', `${name}: ${value}`));
  output.talk('');
}

async function bodyOf({ body }: Response) {
  const pieces: Uint8Array[] = [];
  let bytes = 0;
  for await (const piece of body ?? []) {
    pieces.push(piece as Uint8Array);
    bytes += (piece as Uint8Array).byteLength;
    if (bytes > BODY_BYTES_MAX) break;
  }
  const all = Buffer.concat(pieces).subarray(0, BODY_BYTES_MAX);
  const isWhole = bytes <= BODY_BYTES_MAX;
  try {
    return { body: new TextDecoder('utf-8', { fatal: true }).decode(all), isBase64: false, isWhole };
  } catch {
    return { body: all.toString('base64'), isBase64: true, isWhole };
  }
}

/** What the code logged since then, oldest first. */
async function linesSince(client: Annex, { id }: Installation, since: number): Promise<readonly LogLine[]> {
  await new Promise((resolve) => setTimeout(resolve, LINES_AFTER_MS));
  const { items } = await client.logs.list({ installation: id, limit: LINES_MAX });
  return items.filter(({ at }) => Date.parse(at) >= since).reverse();
}

/**
 * A server between a command and the service, which puts escape sequences into every text of its
 * answers; or one whose every answer is an error of nothing but such text.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';

/**
 * Sets the clipboard, clears the screen, asks for an answer, colours by one C1 character, turns the
 * order of reading, ends and overwrites a line.
 */
export const HOSTILE =
  '\x1b]52;c;cHduZWQ=\x07\x1b[2J\x1b[6n\x9b31m\u202egnp\u2066\x7f\u2028\x1b]0;t\x1b\\\rend';

/** What a terminal acts on, beside line feeds, tabs and the styles of the output itself. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: these are what must not be there.
const CONTROL = /[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u{e0000}-\u{e007f}\p{Bidi_Control}]/u;
// biome-ignore lint/suspicious/noControlCharactersInRegex: the styles of the output itself.
const STYLE = /\x1b\[(?:0|1|2|31|32|33|36)m/g;

/** The first place of a text that would control a terminal, with what is around it. */
export function controlIn(text: string): string | undefined {
  const plain = text.replaceAll(STYLE, '');
  const at = plain.search(CONTROL);
  return at === -1 ? undefined : JSON.stringify(plain.slice(Math.max(0, at - 40), at + 40));
}

/** Which texts get it: a command may stop at a date, a URL or a word that it does not know. */
export type Poisoned = 'every text' | 'texts for people';

const isForPeople = (text: string): boolean =>
  !/^[a-z]+$/.test(text) && !/^\d{4}-\d\d-\d\dT/.test(text) && !/^https?:/.test(text);

function poisoned(value: unknown, which: Poisoned): unknown {
  if (typeof value === 'string')
    return which === 'every text' || isForPeople(value) ? `${value}${HOSTILE}` : value;
  if (Array.isArray(value)) return value.map((each) => poisoned(each, which));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, poisoned(each, which)]));
}

function poisonedText(text: string, which: Poisoned): string {
  try {
    return JSON.stringify(poisoned(JSON.parse(text), which));
  } catch {
    return text;
  }
}

const IN_URL = encodeURIComponent(HOSTILE);
const IN_JSON = JSON.stringify(HOSTILE).slice(1, -1);

const servers = new Set<Server>();

export function closeHostile(): void {
  for (const server of servers) server.closeAllConnections();
  for (const server of servers) server.close();
}

async function listening(server: Server): Promise<string> {
  servers.add(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** @returns the URL of a server that passes requests on, and puts the text into each answer */
export function poisoning(url: string, which: Poisoned): Promise<string> {
  return listening(
    createServer(async (request, response) => {
      const leave = new AbortController();
      response.on('close', () => leave.abort());
      try {
        const answer = await passedOn(url, request, leave.signal);
        const type = answer.headers.get('content-type') ?? '';
        response.writeHead(answer.status, { 'content-type': type, 'annex-version': '9\x9b31m' });
        if (!type.startsWith('text/event-stream'))
          return void response.end(poisonedText(await answer.text(), which));
        response.flushHeaders();
        for await (const lines of linesOf(answer))
          response.write(lines.replace(/^data: ?(.*)$/gm, (_, data) => `data: ${poisonedText(data, which)}`));
        response.end();
      } catch {
        response.destroy();
      }
    }),
  );
}

async function passedOn(url: string, request: IncomingMessage, signal: AbortSignal): Promise<Response> {
  const body = await buffer(request);
  const { authorization, 'content-type': type, ...rest } = request.headers;
  const names = ['if-match', 'idempotency-key', 'last-event-id', 'accept'].filter(
    (name) => rest[name] !== undefined,
  );
  return fetch(`${url}${request.url?.replaceAll(IN_URL, '')}`, {
    method: request.method ?? 'GET',
    headers: {
      ...(authorization !== undefined && { authorization }),
      ...(type !== undefined && { 'content-type': type }),
      ...Object.fromEntries(names.map((name) => [name, String(rest[name]).replaceAll(HOSTILE, '')])),
    },
    ...(body.length > 0 && {
      body: type?.startsWith('application/json')
        ? body.toString().replaceAll(IN_JSON, '')
        : new Uint8Array(body),
    }),
    signal,
  });
}

async function* linesOf(answer: Response): AsyncIterable<string> {
  let waiting = '';
  const decoder = new TextDecoder();
  for await (const bytes of answer.body ?? []) {
    const text = decoder.decode(bytes as Uint8Array, { stream: true });
    const [rest = '', ...ended] = `${waiting}${text}`.split('\n').reverse();
    waiting = rest;
    if (ended.length > 0) yield `${ended.reverse().join('\n')}\n`;
  }
}

/** @returns the URL of a server that refuses everything in such words */
export function refusing(): Promise<string> {
  const problem = {
    severity: 'error',
    message: HOSTILE,
    file: HOSTILE,
    property: HOSTILE,
    hint: HOSTILE,
    line: 1,
    column: 1,
  };
  const error = {
    code: `PUBLISH_INVALID`,
    message: `No. ${HOSTILE}`,
    problems: [problem],
    ['requestId']: HOSTILE,
  };
  return listening(
    createServer((request, response) => {
      request.resume();
      response.writeHead(422, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
    }),
  );
}

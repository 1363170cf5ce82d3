/**
 * The thread of the test kit that speaks to the service: it starts its process, passes on its lines,
 * and sends the requests of the tests.
 *
 * A thread has timers, `fetch` and `process.nextTick` of its own. Those of the tests' thread may be
 * fakes that never run, of whatever library: everything that waits for input and output waits here.
 */
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { parentPort, workerData } from 'node:worker_threads';

/** A body that can be handed to a thread. */
export type HandedBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'whole'; readonly value: string | ArrayBuffer | ArrayBufferView | Blob | ReadableStream }
  | { readonly kind: 'query'; readonly text: string }
  | { readonly kind: 'form'; readonly entries: readonly HandedEntry[] };
export type HandedEntry = readonly [name: string, value: string | Blob, filename?: string];

export interface HandedRequest {
  readonly url: string;
  readonly method: string | undefined;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly redirect: NonNullable<RequestInit['redirect']>;
  readonly body: HandedBody;
}

export interface HandedAnswer {
  readonly status: number;
  readonly statusText: string;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: ArrayBuffer;
}

export type ToThread =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'fetch'; readonly id: number; readonly request: HandedRequest }
  | { readonly kind: 'abort'; readonly id: number };

export type OfThread =
  | { readonly kind: 'line'; readonly line: string }
  | { readonly kind: 'ended'; readonly message: string }
  | { readonly kind: 'fetched'; readonly id: number; readonly answer: HandedAnswer }
  | { readonly kind: 'failed'; readonly id: number; readonly error: Error };

/** What the thread is started with. */
export interface ThreadData {
  readonly execPath: string;
  /** The program `annex`. */
  readonly program: string;
}

const ERRORS_MAX = 8_192;

const say = (message: OfThread, transfer: readonly ArrayBuffer[] = []): void =>
  parentPort?.postMessage(message, [...transfer]);

/** Starts the service, and passes its lines on. @returns what writes a line to it */
function startService({ execPath, program }: ThreadData): (line: string) => void {
  const child = spawn(execPath, [program, 'test-service'], {
    stdio: ['pipe', 'pipe', 'pipe'],
    env: withoutTestRunner(process.env),
  });
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = `${errors}${text}`.slice(-ERRORS_MAX);
  });
  const ended = (how: string) =>
    say({ kind: 'ended', message: `The service of the tests ${how}.${errors && `\n${errors.trim()}`}` });
  child.once('error', (cause) => ended(`could not be started: ${cause.message}`));
  child.once('close', (code, signal) => ended(`has ended (${signal ?? `exit code ${code}`})`));
  child.stdin.on('error', () => undefined);
  createInterface({ input: child.stdout }).on('line', (line) => say({ kind: 'line', line }));
  return (line) => void child.stdin.write(`${line}\n`);
}

/** Settings of a test runner for its own processes: they would make the service one of them. */
function withoutTestRunner(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, NODE_V8_COVERAGE: ___, ...rest } = env;
  return rest;
}

async function send({ url, body, ...rest }: HandedRequest, signal: AbortSignal): Promise<HandedAnswer> {
  const { method, redirect } = rest;
  const init = {
    ...{ headers: rest.headers.map(([name, value]): [string, string] => [name, value]), redirect, signal },
    ...(method !== undefined && { method }),
    ...(body.kind !== 'none' && { body: bodyOf(body), duplex: 'half' as const }),
  };
  const answer = await fetch(url, init);
  const { status, statusText, headers } = answer;
  return { status, statusText, headers: [...headers], body: await answer.arrayBuffer() };
}

function bodyOf(body: Exclude<HandedBody, { kind: 'none' }>): NonNullable<RequestInit['body']> {
  if (body.kind === 'query') return new URLSearchParams(body.text);
  if (body.kind === 'whole') return body.value as NonNullable<RequestInit['body']>;
  const form = new FormData();
  for (const [name, value, filename] of body.entries)
    if (typeof value === 'string') form.append(name, value);
    else form.append(name, value, filename);
  return form;
}

const write = startService(workerData as ThreadData);
const sending = new Map<number, AbortController>();
parentPort?.on('message', (message: ToThread) => {
  if (message.kind === 'line') write(message.line);
  else if (message.kind === 'abort') sending.get(message.id)?.abort();
  else {
    const { id, request } = message;
    const controller = new AbortController();
    sending.set(id, controller);
    send(request, controller.signal)
      .then(
        (answer) => say({ kind: 'fetched', id, answer }, [answer.body]),
        (cause: unknown) =>
          say({ kind: 'failed', id, error: cause instanceof Error ? cause : new Error(String(cause)) }),
      )
      .finally(() => sending.delete(id));
  }
});

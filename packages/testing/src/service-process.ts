/**
 * The service of the tests: a process of the package `annex`, on its own Node 26, that speaks over
 * its standard input and output. All files of a test process share one. It ends with that process.
 */
import { type ChildProcessByStdio, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import type {
  OutboundAnswer,
  OutboundRequest,
  Ready,
  TestRequest,
  ToService,
  ToTestKit,
} from '../../../src/cli/testing/test-messages.ts';

const ERRORS_MAX = 8_192;

/** Answers the outbound requests of one part of the tests. @returns undefined for those of others */
export type Answering = (request: OutboundRequest) => Promise<OutboundAnswer> | undefined;

interface Waiting {
  resolve(value: unknown): void;
  reject(error: Error): void;
}

type Child = ChildProcessByStdio<Writable, Readable, Readable>;

export class ServiceProcess {
  readonly ready: Ready;
  readonly #child: Child;
  readonly #waiting = new Map<number, Waiting>();
  readonly #answering = new Set<Answering>();
  #last = 0;

  private constructor(child: Child, ready: Ready) {
    this.#child = child;
    this.ready = ready;
  }

  /** @throws an Error that says why the service did not start */
  static async start(): Promise<ServiceProcess> {
    const child = spawn(process.execPath, [annexProgram(), 'test-service'], {
      stdio: ['pipe', 'pipe', 'pipe'],
      env: withoutTestRunner(process.env),
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = `${errors}${text}`.slice(-ERRORS_MAX);
    });
    const lines = createInterface({ input: child.stdout });
    const ended = new Promise<never>((_, reject) => {
      const failed = (how: string) =>
        reject(new Error(`The service of the tests ${how}.${errors === '' ? '' : `\n${errors.trim()}`}`));
      child.once('error', (cause) => failed(`could not be started: ${cause.message}`));
      child.once('exit', (code, signal) => failed(`has ended (${signal ?? `exit code ${code}`})`));
    });
    child.stdin.on('error', () => undefined);
    const [first] = (await Promise.race([once(lines, 'line'), ended])) as [string];
    const started = new ServiceProcess(child, JSON.parse(first) as Ready);
    lines.on('line', (line) => started.#received(JSON.parse(line) as ToTestKit));
    ended.catch((cause: Error) => started.#ended(cause));
    started.#keepAlive(false);
    return started;
  }

  /** Asks the service to do something. */
  async ask<Value = undefined>(request: TestRequest): Promise<Value> {
    this.#last += 1;
    const id = this.#last;
    this.#keepAlive(true);
    try {
      return await new Promise<Value>((resolve, reject) => {
        this.#waiting.set(id, { resolve: resolve as Waiting['resolve'], reject });
        this.#send({ kind: 'ask', id, ...request });
      });
    } finally {
      this.#waiting.delete(id);
      if (this.#waiting.size === 0) this.#keepAlive(false);
    }
  }

  /** Adds what answers outbound requests. @returns a function that removes it */
  answerBy(answering: Answering): () => void {
    this.#answering.add(answering);
    return () => void this.#answering.delete(answering);
  }

  #received(message: ToTestKit): void {
    if (message.kind === 'result') this.#waiting.get(message.id)?.resolve(message.value);
    else if (message.kind === 'failure') this.#waiting.get(message.id)?.reject(new Error(message.message));
    else if (message.kind === 'fetch') void this.#answer(message.id, message.request);
  }

  async #answer(id: number, request: OutboundRequest): Promise<void> {
    for (const answering of this.#answering) {
      const answer = answering(request);
      if (answer === undefined) continue;
      this.#send({ kind: 'answer', id, answer: await answer });
      return;
    }
    this.#send({ kind: 'answer', id, answer: { broken: true } });
  }

  #send(message: ToService): void {
    this.#child.stdin.write(`${JSON.stringify(message)}\n`);
  }

  #ended(cause: Error): void {
    for (const { reject } of this.#waiting.values()) reject(cause);
  }

  /** Only what is asked keeps the process of the tests alive: an idle service must not. */
  #keepAlive(isAsked: boolean): void {
    const handles = [this.#child, this.#child.stdin, this.#child.stdout, this.#child.stderr] as unknown as {
      ref(): void;
      unref(): void;
    }[];
    for (const handle of handles)
      if (isAsked) handle.ref();
      else handle.unref();
  }
}

let shared: Promise<ServiceProcess> | undefined;

/** The service of this process, started with its first use. */
export function serviceProcess(): Promise<ServiceProcess> {
  shared ??= ServiceProcess.start();
  return shared;
}

/** The program of the package `annex`; in a clone, that of its sources. */
function annexProgram(): string {
  if (import.meta.url.endsWith('.ts'))
    return fileURLToPath(new URL('../../annex/bin/annex.js', import.meta.url));
  try {
    const manifest = createRequire(import.meta.url).resolve('annex/package.json');
    return join(dirname(manifest), 'bin/annex.js');
  } catch (cause) {
    throw new Error('@annex/testing needs the package annex: npm install --save-dev annex', { cause });
  }
}

/** Settings of a test runner for its own processes: they would make the service one of them. */
function withoutTestRunner(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, NODE_TEST_CONTEXT: __, NODE_V8_COVERAGE: ___, ...rest } = env;
  return rest;
}

/** A debugger for tests: a plain WebSocket client that speaks the DevTools protocol. */
import { onTestFinished } from 'vitest';
import WebSocket from 'ws';

/** What `/json/list` says of one isolate. */
export interface ListedTarget {
  readonly title: string;
  readonly type: string;
  readonly url: string;
  readonly webSocketDebuggerUrl: string;
}

// biome-ignore lint/suspicious/noExplicitAny: the protocol has hundreds of shapes
type Params = any;

interface Message {
  readonly id?: number;
  readonly method?: string;
  readonly params?: Params;
  readonly result?: Params;
  readonly error?: { readonly message: string };
}

/** The isolates at an inspector, as editors ask for them. */
export async function listedTargets(address: string): Promise<ListedTarget[]> {
  const response = await fetch(`http://${address}/json/list`);
  return (await response.json()) as ListedTarget[];
}

export class TestDebugger {
  readonly #socket: WebSocket;
  readonly #answers = new Map<number, PromiseWithResolvers<Params>>();
  readonly #notices: { method: string; params: Params }[] = [];
  readonly #closed = Promise.withResolvers<{ code: number; reason: string }>();
  #wake = Promise.withResolvers<void>();
  #lastId = 0;
  #contextId: number | undefined;

  private constructor(socket: WebSocket) {
    this.#socket = socket;
    socket.on('message', (data) => this.#receive(JSON.parse(String(data)) as Message));
    socket.on('close', (code, reason) => this.#closed.resolve({ code, reason: String(reason) }));
  }

  /** Connects, as a program does without an origin. @throws with the status of a refusal */
  static async connect(url: string, headers: Record<string, string> = {}): Promise<TestDebugger> {
    const socket = new WebSocket(url, { headers });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('unexpected-response', (_, { statusCode }) =>
      reject(new Error(`refused with ${statusCode}`)),
    );
    // Before the first message can arrive.
    const opened = new TestDebugger(socket);
    await promise;
    onTestFinished(() => socket.terminate());
    return opened;
  }

  /** Sends a request. @throws with the message of an error */
  send(method: string, params: Record<string, unknown> = {}): Promise<Params> {
    this.#lastId += 1;
    const answer = Promise.withResolvers<Params>();
    this.#answers.set(this.#lastId, answer);
    this.#socket.send(JSON.stringify({ id: this.#lastId, method, params }));
    return answer.promise;
  }

  /** Evaluates in the context of the integration. */
  async evaluate(expression: string): Promise<unknown> {
    if (this.#contextId === undefined) {
      await this.send('Runtime.enable');
      this.#contextId = (await this.next('Runtime.executionContextCreated')).context.id;
    }
    const { result } = await this.send('Runtime.evaluate', { expression, contextId: this.#contextId });
    return result.value;
  }

  /** The next notification of this method that fits; earlier ones that no wait has taken count. */
  async next(method: string, fits: (params: Params) => boolean = () => true): Promise<Params> {
    for (;;) {
      const wake = this.#wake.promise;
      const at = this.#notices.findIndex((notice) => notice.method === method && fits(notice.params));
      if (at >= 0) return this.#notices.splice(at, 1)[0]?.params;
      await wake;
    }
  }

  /** Notifications of this method that no wait has taken. */
  count(method: string): number {
    return this.#notices.filter((notice) => notice.method === method).length;
  }

  /** Settles when the connection is closed, by either side. */
  get closed(): Promise<{ code: number; reason: string }> {
    return this.#closed.promise;
  }

  async close(): Promise<void> {
    this.#socket.close();
    await this.#closed.promise;
  }

  #receive({ id, method, params, result, error }: Message): void {
    if (method !== undefined) this.#notices.push({ method, params });
    this.#wake.resolve();
    this.#wake = Promise.withResolvers<void>();
    if (id === undefined) return;
    const answer = this.#answers.get(id);
    if (error === undefined) answer?.resolve(result);
    else answer?.reject(new Error(error.message));
  }
}

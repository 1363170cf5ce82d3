/** Reads server-sent events, as an `EventSource` does: comments count as a sign of life only. */

export interface ServerSentEvent {
  readonly id: string;
  readonly type: string;
  readonly data: string;
}

export class EventReader {
  readonly #response: Response;
  readonly #abort: AbortController;
  readonly #events: AsyncGenerator<ServerSentEvent>;
  comments = 0;

  private constructor(response: Response, abort: AbortController) {
    this.#response = response;
    this.#abort = abort;
    this.#events = this.#read();
  }

  /** Resolves when the answer's head has arrived. */
  static async open(url: string, headers: Record<string, string>): Promise<EventReader> {
    const abort = new AbortController();
    return new EventReader(await fetch(url, { headers, signal: abort.signal }), abort);
  }

  get head(): Response {
    return this.#response;
  }

  /** The next event; undefined at the end of the answer. */
  async next(): Promise<ServerSentEvent | undefined> {
    const { value, done } = await this.#events.next();
    return done ? undefined : value;
  }

  async take(count: number): Promise<ServerSentEvent[]> {
    const events: ServerSentEvent[] = [];
    while (events.length < count) {
      const event = await this.next();
      if (event === undefined) break;
      events.push(event);
    }
    return events;
  }

  /** Hangs up. */
  close(): void {
    this.#abort.abort();
  }

  async *#read(): AsyncGenerator<ServerSentEvent> {
    let text = '';
    for await (const piece of (this.#response.body as ReadableStream<Uint8Array>).pipeThrough(
      new TextDecoderStream() as ReadableWritablePair<string, Uint8Array>,
    )) {
      const blocks = (text + piece).split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        if (block.startsWith(':')) this.comments += 1;
        else yield eventIn(block);
      }
    }
  }
}

function eventIn(block: string): ServerSentEvent {
  const fields = new Map(block.split('\n').map((line) => line.split(/: (.*)/s, 2) as [string, string]));
  return {
    id: fields.get('id') ?? '',
    type: fields.get('event') ?? 'message',
    data: fields.get('data') ?? '',
  };
}

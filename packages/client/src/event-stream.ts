/** Parses server-sent events (HTML standard, "event stream interpretation") from bytes. */

/** An event of a stream. */
export interface ServerEvent {
  /** `message` where the stream names none. */
  readonly event: string;
  readonly data: string;
  /** The last `id` up to here; empty before the first. */
  readonly id: string;
}

/** Attack: a server that never ends a line, or an event, so that memory fills. */
const EVENT_CHARS_MAX = 4 * 1024 * 1024;

/** Turns pieces of a stream, cut anywhere, into events. */
export class EventStreamParser {
  /** `id` of the last event that is whole. */
  lastId = '';
  /** Milliseconds until a reconnection, as the server wishes; undefined if it did not say. */
  retryMs: number | undefined;
  readonly #decoder = new TextDecoder();
  #rest = '';
  #endsWithReturn = false;
  #event = '';
  #id = '';
  #data: string[] = [];
  #chars = 0;

  /** The events that end in this piece. @throws RangeError if one is too long */
  push(bytes: Uint8Array): readonly ServerEvent[] {
    const events: ServerEvent[] = [];
    for (const line of this.#lines(this.#decoder.decode(bytes, { stream: true }))) {
      this.#chars += line.length;
      const event = line === '' ? this.#dispatched() : this.#read(line);
      if (event) events.push(event);
    }
    if (this.#chars + this.#rest.length > EVENT_CHARS_MAX)
      throw new RangeError(`An event of the stream has more than ${EVENT_CHARS_MAX} characters.`);
    return events;
  }

  /** Lines end with CR, LF or both, also where the two are in different pieces. */
  #lines(text: string): readonly string[] {
    const own = this.#endsWithReturn && text.startsWith('\n') ? text.slice(1) : text;
    if (text === '') return [];
    this.#endsWithReturn = text.endsWith('\r');
    const lines = (this.#rest + own).split(/\r\n|\r|\n/);
    this.#rest = lines.pop() ?? '';
    return lines;
  }

  #read(line: string): undefined {
    const colon = line.indexOf(':');
    if (colon === 0) return;
    const name = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
    if (name === 'data') this.#data.push(value);
    else if (name === 'event') this.#event = value;
    else if (name === 'id' && !value.includes('\0')) this.#id = value;
    else if (name === 'retry' && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
  }

  #dispatched(): ServerEvent | undefined {
    this.lastId = this.#id;
    const event = { event: this.#event || 'message', data: this.#data.join('\n'), id: this.lastId };
    const hasData = this.#data.length > 0;
    this.#event = '';
    this.#data = [];
    this.#chars = 0;
    return hasData ? event : undefined;
  }
}

/**
 * Parser of an event stream (https://html.spec.whatwg.org/#parsing-an-event-stream): pieces of text
 * in, events and reconnection times out.
 *
 * Attack: a server that sends one endless line in small pieces. Each piece is looked at once; the
 * line itself counts as memory of the isolate and as bytes of its fetch.
 */
import { charCodeAt, indexOf, regExpExec, slice } from '../primordials.ts';

const LF = 10;
const CR = 13;
const DIGITS = /^[0-9]+$/;

export interface EventStreamSink {
  /** An event that is complete. */
  event(type: string, data: string): void;
  /** The id for a reconnection has changed. */
  id(lastEventId: string): void;
  retry(milliseconds: number): void;
}

export class EventStreamParser {
  readonly #sink: EventStreamSink;
  /** The line so far; it is not joined before its end is found. */
  #line = '';
  /** Whether the last piece ended with a CR, so that an LF belongs to it. */
  #afterCr = false;
  #atStart = true;
  #type = '';
  #data = '';
  #hasData = false;
  #id = '';

  /** @param id that a stream before this one left */
  constructor(sink: EventStreamSink, id: string) {
    this.#sink = sink;
    this.#id = id;
  }

  feed(piece: string): void {
    if (piece === '') return;
    let start = 0;
    if (this.#atStart && charCodeAt(piece, 0) === 0xfeff) start = 1;
    this.#atStart = false;
    for (let at = start; at < piece.length; at++) {
      const code = charCodeAt(piece, at);
      if (code !== LF && code !== CR) {
        this.#afterCr = false;
        continue;
      }
      if (code === LF && this.#afterCr) {
        this.#afterCr = false;
        start = at + 1;
        continue;
      }
      this.#afterCr = code === CR;
      const line = this.#line + slice(piece, start, at);
      this.#line = '';
      start = at + 1;
      this.#take(line);
    }
    this.#line += slice(piece, start);
  }

  #take(line: string): void {
    if (line === '') return this.#dispatch();
    const colon = indexOf(line, ':');
    if (colon === 0) return;
    const name = colon < 0 ? line : slice(line, 0, colon);
    const space = colon >= 0 && charCodeAt(line, colon + 1) === 32 ? 1 : 0;
    const value = colon < 0 ? '' : slice(line, colon + 1 + space);
    if (name === 'data') {
      this.#data = this.#hasData ? `${this.#data}\n${value}` : value;
      this.#hasData = true;
    } else if (name === 'event') this.#type = value;
    else if (name === 'id') {
      if (indexOf(value, '\0') < 0) this.#id = value;
    } else if (name === 'retry' && regExpExec(DIGITS, value) !== null) this.#sink.retry(+value);
  }

  #dispatch(): void {
    const [type, data, hasData] = [this.#type, this.#data, this.#hasData];
    this.#type = '';
    this.#data = '';
    this.#hasData = false;
    this.#sink.id(this.#id);
    if (hasData) this.#sink.event(type === '' ? 'message' : type, data);
  }
}

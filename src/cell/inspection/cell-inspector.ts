/**
 * The inspector of a cell: passes messages of the DevTools protocol between the host and the
 * inspector sessions of isolates.
 *
 * It exists only in a cell that was started for inspection. What it sends moves by credit of the
 * host, and is bounded while it waits: a debugger that does not read is given up. It understands no
 * message of the protocol; `inspected-isolate.ts` looks for the few that matter to a call's clock.
 */
import { type CellInspection, type HostInspection, INSPECTION_BOUNDS } from '../../protocol/inspection.ts';
import { InspectedIsolate, type InspectedIsolateDeps } from './inspected-isolate.ts';

/** A message that waits for credit. */
interface Waiting {
  readonly target: number;
  readonly bytes: Buffer;
}

export class CellInspector {
  readonly #send: (message: CellInspection, ...body: Buffer[]) => void;
  readonly #isolates = new Map<number, InspectedIsolate>();
  #lastTarget = 0;
  /** Sessions of all isolates so far: isolated-vm ends the process where one is collected. */
  readonly #sessions: unknown[] = [];
  #waiting: Waiting[] = [];
  #waitingBytes = 0;
  #inFlightBytes = 0;

  constructor(send: (message: CellInspection, ...body: Buffer[]) => void) {
    this.#send = send;
  }

  /** An isolate that can be inspected once it is opened with its session. */
  isolate(deps: Pick<InspectedIsolateDeps, 'calls' | 'checks'>): InspectedIsolate {
    this.#lastTarget += 1;
    const target = this.#lastTarget;
    return new InspectedIsolate({
      ...deps,
      opened: (isolate, session, { key, script }) => {
        this.#sessions.push(session);
        this.#isolates.set(target, isolate);
        this.#send({ t: 'inspectable', target, isolate: key, script });
      },
      emit: (text) => this.#emit(target, Buffer.from(text)),
      ended: () => this.#send({ t: 'inspect-ended', target }),
      closed: () => {
        this.#drop(target);
        if (this.#isolates.delete(target)) this.#send({ t: 'inspect-gone', target });
      },
    });
  }

  /** Handles one message of the host. An isolate that has just been disposed of is unknown. */
  receive(message: HostInspection, body: Buffer): void {
    if (message.t === 'inspect-credit') {
      this.#inFlightBytes -= message.bytes;
      return this.#pump();
    }
    const isolate = this.#isolates.get(message.target);
    if (message.t === 'inspect') return isolate?.dispatch(body.toString('utf8'));
    this.#drop(message.target);
    return isolate?.end();
  }

  #emit(target: number, bytes: Buffer): void {
    this.#waiting.push({ target, bytes });
    this.#waitingBytes += bytes.byteLength;
    this.#pump();
    // Attack: code that throws in a loop, under a debugger that wants to hear of each exception and
    // reads slowly, fills the cell's memory.
    if (this.#waitingBytes <= INSPECTION_BOUNDS.bytesWaiting) return;
    this.#drop(target);
    this.#isolates.get(target)?.lose();
    this.#send({ t: 'inspect-lost', target });
  }

  #pump(): void {
    while (this.#inFlightBytes < INSPECTION_BOUNDS.bytesInFlight) {
      const next = this.#waiting.shift();
      if (next === undefined) return;
      const { target, bytes } = next;
      this.#waitingBytes -= bytes.byteLength;
      this.#inFlightBytes += bytes.byteLength;
      this.#send({ t: 'inspected', target }, bytes);
    }
  }

  /** Forgets what waits for a debugger. */
  #drop(target: number): void {
    this.#waiting = this.#waiting.filter((waiting) => waiting.target !== target);
    this.#waitingBytes = this.#waiting.reduce((sum, { bytes }) => sum + bytes.byteLength, 0);
  }
}

/**
 * The isolates of all cells that can be inspected, and the checks on what cells say about them.
 *
 * A cell is hostile even while it is inspected: it names its own isolates alone, sends no more than
 * the host has given credit for, and is ended for anything else.
 */
import type { InspectCell } from '../cells/cell-process.ts';
import { type HostInspection, INSPECTION_BOUNDS, parseCellInspection } from '../protocol/inspection.ts';
import { InspectorTarget } from './inspector-target.ts';

const REPLACED = 'The isolate has ended: its version was replaced, or it was not needed any more.';
const TOO_SLOW = 'The debugger reads more slowly than the isolate writes.';

export class InspectedTargets {
  readonly #targets = new Map<string, InspectorTarget>();

  /** All of them, the newest first: an editor attaches to the first one. */
  get list(): readonly InspectorTarget[] {
    return [...this.#targets.values()].reverse();
  }

  /** The target whose URL has this id. */
  get(id: string): InspectorTarget | undefined {
    return this.#targets.get(id);
  }

  /** Begins the inspection of one cell. */
  readonly inspectCell: InspectCell = (send) => {
    const own = new Map<number, InspectorTarget>();
    let inFlightBytes = 0;
    const credited = (message: HostInspection, body?: Uint8Array) => {
      if (message.t === 'inspect-credit') inFlightBytes -= message.bytes;
      send(message, body);
    };
    const drop = (number: number, target: InspectorTarget): void => {
      own.delete(number);
      this.#targets.delete(target.id);
      target.ended();
      target.release(REPLACED);
    };
    return {
      receive: (head, body) => {
        const message = parseCellInspection(head);
        if (message === undefined) return false;
        const number = message.target;
        if (message.t === 'inspectable') {
          if (own.has(number) || own.size >= INSPECTION_BOUNDS.targets) return false;
          const { isolate, script } = message;
          const target = new InspectorTarget({ number, isolate, script, send: credited });
          own.set(number, target);
          this.#targets.set(target.id, target);
          return true;
        }
        const target = own.get(number);
        if (target === undefined) return false;
        switch (message.t) {
          case 'inspected':
            // Attack: a cell that was taken over fills the host's memory with unread messages.
            if (inFlightBytes >= INSPECTION_BOUNDS.bytesInFlight) return false;
            if (body.byteLength > INSPECTION_BOUNDS.messageBytes) return false;
            inFlightBytes += body.byteLength;
            target.receive(body);
            return true;
          case 'inspect-lost':
            target.release(TOO_SLOW);
            return true;
          case 'inspect-ended':
            target.ended();
            return true;
          case 'inspect-gone':
            drop(number, target);
            return true;
        }
      },
      exited: () => {
        for (const [number, target] of own) drop(number, target);
      },
    };
  };
}

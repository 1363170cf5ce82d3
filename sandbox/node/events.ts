/**
 * `node:events`: the emitter of `@jspm/core`, with the functions that later versions of Node.js
 * added.
 */
import EventEmitter, {
  defaultMaxListeners,
  type Emitter,
  init,
  listenerCount,
  on,
  once,
} from '@jspm/core/nodelibs/events';

const errorMonitor = Symbol('events.errorMonitor');
const captureRejectionSymbol = Symbol.for('nodejs.rejection');
const setMaxListeners = (count: number, ...targets: Emitter[]): void => {
  // A target of the web platform has no limit.
  for (const target of targets) target.setMaxListeners?.(count);
};
const getEventListeners = (target: Emitter, name: unknown): Function[] => target.listeners?.(name) ?? [];

Object.assign(EventEmitter, {
  EventEmitter,
  errorMonitor,
  captureRejectionSymbol,
  setMaxListeners,
  getEventListeners,
});

export {
  captureRejectionSymbol,
  defaultMaxListeners,
  EventEmitter,
  errorMonitor,
  getEventListeners,
  init,
  listenerCount,
  on,
  once,
  setMaxListeners,
};
export default EventEmitter;

/**
 * The beginning and the end of an isolate's session with V8's inspector, around what isolated-vm
 * does wrong (docs/decisions/inspection.md). Only a cell that was started for inspection uses it.
 */
import type ivm from 'isolated-vm';
import type { Engine } from '../engine.ts';

/** Ends a pause, stops what runs, and wakes the thread if it has slept through the former. */
const LAST_REQUESTS = ['Debugger.disable', 'Runtime.terminateExecution', 'Runtime.getIsolateId'];
const WAKE_AFTER_MS = [10, 30, 100, 300];

/**
 * Makes the session, before any tenant code is in the isolate.
 *
 * V8 ends the process where a session is made without the isolate's lock, and isolated-vm does not
 * take it. So the isolate is entered, and makes its session in a callback: the thread has the lock
 * meanwhile.
 */
export function openSession(
  engine: Engine,
  isolate: ivm.Isolate,
  context: ivm.Context,
): ivm.InspectorSession | undefined {
  let session: ivm.InspectorSession | undefined;
  const open = () => {
    session = isolate.createInspectorSession();
  };
  context.evalClosureSync('$0()', [new engine.Callback(open, { sync: true })]);
  return session;
}

/**
 * Ends what an isolate does, and leaves its memory to the end of the cell: isolated-vm waits for
 * itself for ever where an isolate with a session is disposed of, and ends the process where a
 * session is.
 */
export function endInspected(isolate: ivm.Isolate, session: ivm.InspectorSession): void {
  const send = (method: string) => {
    // A message to an isolate that the engine has disposed of would end the process.
    if (!isolate.isDisposed) session.dispatchProtocolMessage(JSON.stringify({ id: 0, method }));
  };
  session.onNotification = () => undefined;
  session.onResponse = () => undefined;
  for (const method of LAST_REQUESTS) send(method);
  for (const ms of WAKE_AFTER_MS) setTimeout(send, ms, LAST_REQUESTS.at(-1) ?? '').unref();
}

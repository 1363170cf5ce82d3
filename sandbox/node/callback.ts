/**
 * Functions of Node.js that call back: their work is done in the isolate, after the code that runs.
 */
export type Done<T> = (error: Error | null, value?: T) => void;

/** Calls back with the result or the error. */
export function answer<T>(done: Done<T>, make: () => T): void {
  queueMicrotask(() => {
    let made: T;
    try {
      made = make();
    } catch (error) {
      return done(error as Error);
    }
    done(null, made);
  });
}

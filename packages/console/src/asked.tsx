/**
 * What a view has asked of the API, in its five states: loading, failed, and empty, partial or full.
 * What was there stays while it is asked again.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Callout, Skeleton } from '../../ui/src/widgets.tsx';
import { ApiError, ask } from './api.ts';
import { signedOut } from './session.ts';

export interface Asked<T> {
  readonly value?: T;
  readonly failure?: Error;
  readonly isAsking: boolean;
  again(): void;
}

/**
 * @param path asked again when it changes; undefined asks nothing
 * @param everyMs asked again, too, while the page is seen
 * @param read how it is asked, where `path` only names it
 */
export function useAsked<T>(
  path: string | undefined,
  everyMs?: number,
  read: (signal: AbortSignal) => Promise<T> = (signal) => ask<T>(path ?? '', { signal }),
): Asked<T> {
  const [turn, setTurn] = useState(0);
  const [state, setState] = useState<{ path?: string; value?: T; failure?: Error; isAsking: boolean }>({
    isAsking: path !== undefined,
  });
  useEffect(() => {
    if (path === undefined) return;
    const leaving = new AbortController();
    // Of another path, nothing is shown meanwhile.
    setState((before) => (before.path === path ? { ...before, isAsking: true } : { path, isAsking: true }));
    read(leaving.signal).then(
      (value) => setState({ path, value, isAsking: false }),
      (failure: Error) => {
        if (leaving.signal.aborted) return;
        if (failure instanceof ApiError && failure.status === 401) signedOut();
        setState((before) => ({ ...before, failure, isAsking: false }));
      },
    );
    return () => leaving.abort();
  }, [path, turn]);
  useEffect(() => {
    if (everyMs === undefined) return;
    const timer = setInterval(() => document.hidden || setTurn((before) => before + 1), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  const { value, failure, isAsking } = state.path === path ? state : { isAsking: true };
  return {
    ...(value !== undefined && { value }),
    ...(failure && { failure }),
    isAsking,
    again: () => setTurn((before) => before + 1),
  };
}

interface ShownProps<T> {
  readonly asked: Asked<T>;
  /** Rows of the skeleton. */
  readonly rows?: number;
  readonly children: (value: T) => ComponentChildren;
}

/** The answer, or why there is none. */
export function Shown<T>({ asked, rows = 4, children }: ShownProps<T>) {
  const { value, failure, again } = asked;
  return (
    <>
      {failure && <Failure failure={failure} again={again} />}
      {value !== undefined
        ? children(value)
        : failure === undefined && <Skeleton rows={rows} words="Loading" />}
    </>
  );
}

/** A refusal in the service's words, with the id by which its log has it. */
export function Failure({ failure, again }: { readonly failure: Error; readonly again?: () => void }) {
  const isApi = failure instanceof ApiError;
  return (
    <Callout tone="bad" role="alert">
      <p dir="auto">{isApi ? failure.message : 'The service does not answer.'}</p>
      {isApi && failure.requestId !== undefined && (
        <p class="hint">
          Request <code>{failure.requestId}</code>
        </p>
      )}
      {again && (
        <button type="button" class="button" onClick={again}>
          Try again
        </button>
      )}
    </Callout>
  );
}

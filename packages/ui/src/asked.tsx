/**
 * What a view of a page of the service has asked of the API, in its five states: loading, failed,
 * and empty, partial or full. What was there stays while it is asked again.
 */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { ApiError, type PageApi } from './page-api.ts';
import { Callout, Skeleton } from './widgets.tsx';

export interface Asked<T> {
  readonly value?: T;
  readonly failure?: Error;
  readonly isAsking: boolean;
  again(): void;
}

/** @param signedOut called where the session has ended */
export function askedBy(ask: PageApi['ask'], signedOut: () => void) {
  /**
   * @param path asked again when it changes; undefined asks nothing
   * @param everyMs asked again, too, while the page is seen; may depend on what is known
   * @param read how it is asked, where `path` only names it
   */
  return function useAsked<T>(
    path: string | undefined,
    everyMs?: number | ((value: T | undefined) => number | undefined),
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
    const { value, failure, isAsking } = state.path === path ? state : { isAsking: true };
    const turnMs = typeof everyMs === 'function' ? everyMs(value) : everyMs;
    useEffect(() => {
      if (turnMs === undefined) return;
      const timer = setInterval(() => document.hidden || setTurn((before) => before + 1), turnMs);
      return () => clearInterval(timer);
    }, [turnMs]);
    return {
      ...(value !== undefined && { value }),
      ...(failure && { failure }),
      isAsking,
      again: () => setTurn((before) => before + 1),
    };
  };
}

export interface AskedWords {
  readonly loading: string;
  /** Of a service that does not answer. */
  readonly unreachable: string;
  /** Before the id of a request. */
  readonly request: string;
  readonly retry: string;
}

interface ShownProps<T> {
  readonly asked: Asked<T>;
  readonly words: AskedWords;
  /** Rows of the skeleton, and their shape. */
  readonly rows?: number;
  readonly shape?: Parameters<typeof Skeleton>[0]['shape'];
  readonly children: (value: T) => ComponentChildren;
}

/** The answer, or why there is none. */
export function Shown<T>({ asked, words, rows = 3, shape = 'fields', children }: ShownProps<T>) {
  const { value, failure, again } = asked;
  return (
    <>
      {failure && <Failure {...{ failure, words, again }} />}
      {value !== undefined
        ? children(value)
        : !failure && <Skeleton {...{ rows, shape }} words={words.loading} />}
    </>
  );
}

interface FailureProps {
  readonly failure: Error;
  readonly words: AskedWords;
  readonly again?: () => void;
}

/** A refusal in the service's words, with the id by which its log has it. */
export function Failure({ failure, words, again }: FailureProps) {
  const isApi = failure instanceof ApiError;
  return (
    <Callout tone="bad" role="alert">
      <p dir="auto">{isApi ? failure.message : words.unreachable}</p>
      {isApi && failure.requestId !== undefined && (
        <p class="hint">
          {words.request} <code>{failure.requestId}</code>
        </p>
      )}
      {again && (
        <button type="button" class="button" onClick={again}>
          {words.retry}
        </button>
      )}
    </Callout>
  );
}

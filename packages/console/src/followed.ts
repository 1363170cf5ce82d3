/** Follows server-sent events of the API while a view is shown. */
import { useEffect, useRef, useState } from 'preact/hooks';
import { AnnexError } from '../../client/src/annex-error.ts';
import { followed } from '../../client/src/follow.ts';

interface Followers<Event> {
  readonly got: (event: Event) => void;
  /** Events may be missing: what was read is read again. */
  readonly missed: () => void;
}

const wait = (ms: number, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    signal?.addEventListener('abort', () => clearTimeout(timer), { once: true });
  });

/**
 * @param path of a list that can be followed; undefined follows nothing
 * @param after id of the event after which they come; without it, those from now on
 * @returns whether it is connected
 */
export function useFollowed<Event>(
  path: string | undefined,
  after: string | undefined,
  followers: Followers<Event>,
): boolean {
  const [isLive, setLive] = useState(false);
  const latest = useRef(followers);
  latest.current = followers;
  useEffect(() => {
    if (path === undefined) return;
    const leaving = new AbortController();
    const open = async (lastEventId: string | undefined, signal: AbortSignal) => {
      const answer = await fetch(path, {
        ...{ credentials: 'same-origin', redirect: 'error', cache: 'no-store', signal },
        headers: {
          ...{ 'annex-console': '1', accept: 'text/event-stream' },
          ...(lastEventId !== undefined && { 'last-event-id': lastEventId }),
        },
      }).catch((cause: unknown) => {
        throw new AnnexError('The service does not answer.', { status: 0, code: 'NETWORK_FAILED', cause });
      });
      if (answer.ok) return answer;
      const { status } = answer;
      throw new AnnexError(`It was answered with ${status}.`, { status, code: 'ANSWER_INVALID' });
    };
    const follow = async () => {
      const options = {
        signal: leaving.signal,
        ...(after !== undefined && { lastEventId: after }),
        onOpen: () => setLive(true),
        onGap: () => latest.current.missed(),
      };
      const environment = { wait, random: Math.random };
      for await (const event of followed<Event>(open, environment, options)) latest.current.got(event);
    };
    void follow()
      // Refused, or left: what was read stays, and Refresh reads it again.
      .catch(() => undefined)
      .finally(() => leaving.signal.aborted || setLive(false));
    return () => leaving.abort();
  }, [path, after]);
  return isLive;
}

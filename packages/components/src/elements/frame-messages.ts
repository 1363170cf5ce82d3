/**
 * The messages between a `webframe` and its page, version 1
 * (docs/contract/components.md#messages-of-a-webframe).
 *
 * Attack: another window, or a page that the frame has moved to another version, speaks as if it
 * were the page. A message counts by the window that sent it, never by what it says of itself.
 */
import type { RefObject } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import type { DrawnNode } from '../drawing/drawn-tree.ts';
import { FRAME_VERSION, readFrameMessage } from '../drawing/frame-message.ts';
import { numberMember, objectMember } from '../drawing/json.ts';
import { useScope } from './scope.ts';

/** Messages of one page in each ten seconds. Attack: a page that posts messages without end. */
const MESSAGES_MAX = 50;
const WINDOW_MS = 10_000;

interface FrameParts {
  readonly node: DrawnNode;
  readonly frame: RefObject<HTMLIFrameElement | null>;
  /** The data for the page, as JSON. */
  readonly data: string;
  readonly resize: (aspectRatio: number) => void;
}

export function useFrameMessages({ node, frame, data, resize }: FrameParts): void {
  const { session } = useScope();
  const isReady = useRef(false);
  const rate = useRef({ since: 0, count: 0 });

  const send = () => {
    // A page without an origin can only be addressed by `*`. It gets what its author declared.
    frame.current?.contentWindow?.postMessage({ version: FRAME_VERSION, state: JSON.parse(data) }, '*');
  };
  const receive = (event: MessageEvent) => {
    if (frame.current === null || event.source !== frame.current.contentWindow) return;
    if (!isWithinRate(rate.current, event.timeStamp)) return;
    const action = readFrameMessage(event.data);
    if (action === undefined) return;
    if (action.action === '@webframe.ready') {
      isReady.current = true;
      send();
    } else if (action.action === '@webframe.resize') {
      const aspectRatio = numberMember(objectMember(action, 'size') ?? {}, 'aspectRatio');
      if (aspectRatio !== undefined) resize(aspectRatio);
    } else if (!action.action.startsWith('@')) session.dispatch(node.path, action);
  };

  const latest = useRef(receive);
  latest.current = receive;
  useEffect(() => {
    const listen = (event: MessageEvent) => latest.current(event);
    window.addEventListener('message', listen);
    return () => window.removeEventListener('message', listen);
  }, []);
  useEffect(() => {
    if (isReady.current) send();
  }, [data]);
}

function isWithinRate(rate: { since: number; count: number }, now: number): boolean {
  if (now - rate.since > WINDOW_MS) {
    rate.since = now;
    rate.count = 0;
  }
  rate.count += 1;
  return rate.count <= MESSAGES_MAX;
}

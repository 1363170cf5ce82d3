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
import {
  FRAME_VERSION,
  type FrameSize,
  isTooLarge,
  readFrameMessage,
  readPlace,
  readSize,
} from '../drawing/frame-message.ts';
import { takePress } from './frame-focus.ts';
import { useScope } from './scope.ts';

/** Messages of one page in each ten seconds that are read. */
const MESSAGES_MAX = 50;
/**
 * Messages of one page in each ten seconds. Attack: a page that posts messages without end, each of
 * which the page of the product has to take. Only without its frame it sends no more.
 */
const FLOOD_MESSAGES = 1_000;
const WINDOW_MS = 10_000;

interface FrameParts {
  readonly node: DrawnNode;
  readonly frame: RefObject<HTMLIFrameElement | null>;
  /** The data for the page, as JSON. */
  readonly data: string;
  readonly resize: (size: FrameSize) => void;
  /** Removes the frame. */
  readonly stop: () => void;
}

export function useFrameMessages({ node, frame, data, resize, stop }: FrameParts): void {
  const { session, stage } = useScope();
  const isReady = useRef(false);
  const rate = useRef({ since: 0, count: 0 });

  const send = () => {
    // A page without an origin can only be addressed by `*`. It gets what its author declared.
    frame.current?.contentWindow?.postMessage({ version: FRAME_VERSION, state: JSON.parse(data) }, '*');
  };
  const receive = (event: MessageEvent) => {
    if (frame.current === null || event.source !== frame.current.contentWindow) return;
    // A page in a frame of this kind has no origin.
    if (event.origin !== 'null') return;
    const count = counted(rate.current, event.timeStamp);
    if (count > FLOOD_MESSAGES) stop();
    // Counted before it is read: the browser makes `data` of the bytes where it is asked for.
    if (count > MESSAGES_MAX) return;
    const { data } = event;
    if (isTooLarge(data)) return stop();
    const action = readFrameMessage(data);
    if (action === undefined) return;
    if (action.action === '@webframe.ready') {
      isReady.current = true;
      send();
    } else if (action.action === '@webframe.resize') {
      const size = readSize(action);
      if (size !== undefined) resize(size);
    } else if (action.action === '@webframe.navigate') {
      const place = readPlace(action);
      // Attack: a page that moves the page around it, by itself and again and again.
      if (place !== undefined && takePress(frame.current)) stage.goTo(place);
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

/** Counts a message. @returns how many there are in this window */
function counted(rate: { since: number; count: number }, now: number): number {
  if (now - rate.since > WINDOW_MS) {
    rate.since = now;
    rate.count = 0;
  }
  rate.count += 1;
  return rate.count;
}

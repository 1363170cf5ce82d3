/**
 * `webframe`: a page of the integration in a frame without an origin, and the messages between both
 * (docs/contract/components.md#messages-of-a-webframe).
 */
import { useEffect, useRef, useState } from 'preact/hooks';
import type { FrameSize } from '../drawing/frame-message.ts';
import { isObject, member, numberMember, objectMember } from '../drawing/json.ts';
import { webUrl } from '../drawing/urls.ts';
import { FailureNote } from './button.tsx';
import { Children } from './children.tsx';
import { useFrameFocus } from './frame-focus.ts';
import { useFrameMessages } from './frame-messages.ts';
import { boundedRatio } from './image.tsx';
import { type ElementProps, useProgress, useScope } from './scope.ts';

const RATIO = 16 / 9;

/** Whether the page is shown: `wanted` once the user has pressed the button in its place. */
type Shown = 'at first' | 'stopped' | 'wanted';

export function WebFrame({ node }: ElementProps) {
  const { session, stage } = useScope();
  const frame = useRef<HTMLIFrameElement>(null);
  const [size, setSize] = useState<FrameSize>({});
  const [shown, setShown] = useState<Shown>(() => (stage.frames.isStopped ? 'stopped' : 'at first'));
  const { failure } = useProgress(node.path);
  const source = objectMember(node.attributes, 'source') ?? {};
  const url = webUrl(session.client.dynamic(member(source, 'url')));
  const { page, visitor } = stage.surroundings.value;
  const data = {
    ...frameData(objectMember(node.attributes, 'data') ?? {}, (value) => session.client.dynamic(value)),
    ...(page && { page: { id: page.id, path: page.path, title: page.title } }),
    ...(visitor && session.seesVisitor && { visitor }),
  };
  const stop = () => {
    stage.frames.isStopped = true;
    setShown('stopped');
  };
  const showAgain = () => {
    stage.frames.isStopped = false;
    setShown('wanted');
  };
  const isShown = url !== undefined && shown !== 'stopped';
  const isWanted = shown === 'wanted';
  const loaded = useFrameFocus({ frame, isShown, isWanted, conduct: stage.frames, stop });
  useFrameMessages({ node, frame, data: JSON.stringify(data), resize: setSize, stop });
  useEffect(() => setSize({}), [url]);
  if (url === undefined) return null;
  const style = frameStyle(size, numberMember(node.attributes, 'aspectRatio') ?? RATIO);
  const title = `${stage.words.frameOf} ${new URL(url).host}`;
  return (
    <div class="webframe">
      {isShown ? (
        /*
         * Attack: a page that runs with the origin of this one, opens windows, moves the whole page
         * elsewhere, or asks for the camera. A frame without `allow-same-origin` has no origin, and
         * none of the other permissions is given.
         */
        <iframe
          ref={frame}
          src={url}
          title={title}
          sandbox="allow-scripts"
          allow=""
          referrerpolicy="no-referrer"
          loading="lazy"
          style={style}
          onLoad={loaded}
        />
      ) : (
        <div class="stopped" role="group" aria-label={title} style={style}>
          <span role="status">{stage.words.stoppedPage}</span>
          <button type="button" class="button secondary" onClick={showAgain}>
            {stage.words.showPage}
          </button>
        </div>
      )}
      <div class="buttons">
        <Children nodes={node.slots['buttons'] ?? []} />
      </div>
      <FailureNote path={node.path} failure={failure} />
    </div>
  );
}

/** A ratio, a height, or a ratio up to a height. */
function frameStyle({ aspectRatio, height }: FrameSize, declared: number) {
  if (aspectRatio === undefined && height !== undefined) return { blockSize: `${height}px` };
  return {
    aspectRatio: String(boundedRatio(aspectRatio ?? declared)),
    ...(height !== undefined && { maxBlockSize: `${height}px` }),
  };
}

/** The declared data, with bindings resolved: texts alone. */
function frameData(
  data: Readonly<Record<string, unknown>>,
  dynamic: (value: unknown) => unknown,
): Readonly<Record<string, string>> {
  const entries = Object.entries(data)
    .map(([name, value]) => [name, isObject(value) ? dynamic(value) : value] as const)
    .map(([name, value]) => [
      name,
      typeof value === 'number' || typeof value === 'boolean' ? String(value) : value,
    ]);
  return Object.fromEntries(entries.filter(([, value]) => typeof value === 'string'));
}

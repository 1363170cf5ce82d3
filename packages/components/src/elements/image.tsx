/** `image`, in a frame of its ratio, so that nothing moves when it is there. */
import { member, numberMember, objectMember } from '../drawing/json.ts';
import { webUrl } from '../drawing/urls.ts';
import { type ElementProps, useScope } from './scope.ts';

/** Attack: a ratio of almost 0, which makes an element of millions of pixels. */
export const boundedRatio = (ratio: number | undefined): number | undefined =>
  ratio === undefined ? undefined : Math.min(Math.max(ratio, 0.2), 20);

export function Image({ node }: ElementProps) {
  const { session } = useScope();
  const source = objectMember(node.attributes, 'source') ?? {};
  const url = webUrl(session.client.dynamic(member(source, 'url')));
  const aspectRatio = boundedRatio(numberMember(node.attributes, 'aspectRatio'));
  if (url === undefined) return null;
  return <SafeImage url={url} alt="" aspectRatio={aspectRatio} />;
}

/** In a line of text: as high as the text, with room for its width from the beginning. */
export function InlineImage({ node }: ElementProps) {
  const { session } = useScope();
  const url = webUrl(session.client.dynamic(member(objectMember(node.attributes, 'source') ?? {}, 'url')));
  const aspectRatio = boundedRatio(numberMember(node.attributes, 'aspectRatio'));
  return url === undefined ? null : <SafeImage url={url} alt="" aspectRatio={aspectRatio} inline />;
}

/** A picture whose server learns no more than that it was asked for. */
export const SafeImage = (props: {
  url: string;
  alt: string;
  aspectRatio?: number | undefined;
  inline?: boolean;
}) => (
  <img
    class={props.inline === true ? 'image inline' : 'image'}
    src={props.url}
    alt={props.alt}
    referrerpolicy="no-referrer"
    loading="lazy"
    decoding="async"
    style={props.aspectRatio === undefined ? {} : { aspectRatio: String(props.aspectRatio) }}
  />
);

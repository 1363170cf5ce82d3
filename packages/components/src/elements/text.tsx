/** Elements of text: `text`, `link`, `hint`, and the notes of the renderer. */
import type { ComponentChildren, VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { cutText } from '../drawing/cut-text.ts';
import type { DrawnNode } from '../drawing/drawn-tree.ts';
import { member, objectMember, textMember } from '../drawing/json.ts';
import { linkUrl } from '../drawing/urls.ts';
import { LIMITS } from '../limits.ts';
import { Children } from './children.tsx';
import { type ElementProps, useScope } from './scope.ts';

const STYLES: ReadonlyMap<string, 'strong' | 'em' | 'code' | 's'> = new Map([
  ['bold', 'strong'],
  ['italic', 'em'],
  ['code', 'code'],
  ['strikethrough', 's'],
]);

/** A note that something is longer than it is shown. */
export function CutNote() {
  const { stage } = useScope();
  return <span class="cut">{stage.words.cutOff}</span>;
}

/** Text as it is: no markup in it has a meaning. */
export function BoundedText({ text, max = LIMITS.textChars }: { text: string; max?: number }) {
  const shown = cutText(text, max);
  if (shown.length === text.length) return <>{shown}</>;
  return (
    <>
      {shown}… <CutNote />
    </>
  );
}

export const PlainText = ({ node }: ElementProps) => <BoundedText text={node.text} />;

/** Text between elements. */
export const TextBlock = ({ node }: ElementProps) => (
  <p class="text" dir="auto">
    <BoundedText text={node.text} />
  </p>
);

function Styled({ node }: ElementProps): VNode {
  const Tag = STYLES.get(textMember(node.attributes, 'style') ?? '');
  const children = <Children nodes={node.children} inline />;
  return Tag === undefined ? children : <Tag>{children}</Tag>;
}

/**
 * Attack: characters that turn the direction of the text behind them. `dir="auto"` isolates each
 * text.
 */
export const Text = ({ node }: ElementProps) => (
  <p class="text" dir="auto">
    <Styled node={node} />
  </p>
);

export const InlineText = ({ node }: ElementProps) => (
  <span dir="auto">
    <Styled node={node} />
  </span>
);

export const Hint = ({ node }: ElementProps) => (
  <p class="hint" dir="auto">
    <Children nodes={node.children} inline />
  </p>
);

export const InlineHint = ({ node }: ElementProps) => (
  <span class="hint" dir="auto">
    <Children nodes={node.children} inline />
  </span>
);

export function Link({ node }: ElementProps) {
  const { session } = useScope();
  const target = objectMember(node.attributes, 'target') ?? {};
  const url = linkUrl(session.client.dynamic(member(target, 'url')));
  return (
    <SafeLink url={url}>
      <Children nodes={node.children} inline />
    </SafeLink>
  );
}

/**
 * Attack: the page that is opened reaches back by `opener`, or learns the address of this one.
 *
 * @param url checked; where it is absent, the text stands without a link
 */
export function SafeLink({ url, children }: { url: string | undefined; children: ComponentChildren }) {
  const { stage } = useScope();
  if (url === undefined) return <span dir="auto">{children}</span>;
  const follow = (event: Event) => {
    if (!stage.follow(url)) event.preventDefault();
  };
  return (
    <a href={url} target="_blank" rel="noopener noreferrer" dir="auto" onClick={follow}>
      {children}
    </a>
  );
}

/** What can stand in a line. */
const IN_LINE: ReadonlySet<string> = new Set(['#text', 'text', 'link', 'hint', 'image']);

/** A remark: text, an element, or a list of both, which is one line where it can be. */
export function Remark({ nodes, id }: { nodes: readonly DrawnNode[]; id?: string }) {
  const inline = nodes.every(({ type }) => IN_LINE.has(type));
  const parts = useMemo(() => (inline ? spaced(nodes) : nodes), [inline, nodes]);
  return (
    <div class="remark" id={id} dir={inline ? 'auto' : undefined}>
      <Children nodes={parts} inline={inline} />
    </div>
  );
}

/** Elements that stand beside one another, with a blank between them. Texts have their own. */
const spaced = (nodes: readonly DrawnNode[]): readonly DrawnNode[] =>
  nodes.flatMap((node, index) => {
    const before = nodes[index - 1];
    const isBeside = before !== undefined && before.type !== '#text' && node.type !== '#text';
    return isBeside ? [{ ...before, type: '#text', text: ' ' }, node] : [node];
  });

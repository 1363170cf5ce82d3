/**
 * `markdown`: markdown-it reads it, and a closed table from its tokens to elements draws it. No
 * text becomes HTML at any time, so that there is nothing to sanitise.
 */
import MarkdownIt from 'markdown-it';
import { createElement, type VNode } from 'preact';
import { useMemo } from 'preact/hooks';
import { markdownElements } from '../../../../src/model/contentkit/drawing-bounds.ts';
import { cutText } from '../drawing/cut-text.ts';
import { member } from '../drawing/json.ts';
import { linkUrl, webUrl } from '../drawing/urls.ts';
import { LIMITS } from '../limits.ts';
import { SafeImage } from './image.tsx';
import { type ElementProps, useDynamic } from './scope.ts';
import { CutNote, SafeLink } from './text.tsx';

/** What is used of a token of markdown-it. */
interface Token {
  readonly type: string;
  readonly tag: string;
  readonly nesting: number;
  readonly content: string;
  attrGet(name: string): string | number | null;
}

/**
 * Attack: a paragraph whose time to read grows with the square of its length. Longer ones are shown
 * as they are written.
 */
const MARKED_UP_CHARS_MAX = 3_000;

/** Paragraphs are read later, each within its bound. */
const READER = new MarkdownIt({ html: false, linkify: false, typographer: false, maxNesting: 20 }).disable([
  'inline',
]);

/** Tokens that hold others become these elements. */
const TAGS: ReadonlySet<string> = new Set([
  ...['p', 'h1', 'h2', 'h3', 'h4', 'h5', 'h6', 'blockquote', 'ul', 'ol', 'li'],
  ...['table', 'thead', 'tbody', 'tr', 'th', 'td', 'em', 'strong', 's'],
]);

export type Nodes = (VNode | string)[];

/** Tokens that hold nothing. */
const LEAVES: Readonly<Record<string, (token: Token) => VNode | string>> = {
  text: ({ content }) => content,
  softbreak: () => '\n',
  hardbreak: () => <br />,
  hr: () => <hr class="divider" />,
  code_inline: ({ content }) => <code>{content}</code>,
  fence: ({ content }) => codeOf(content),
  code_block: ({ content }) => codeOf(content),
};

const codeOf = (content: string): VNode => (
  // A region that scrolls has to be reached by the keyboard.
  <pre class="code" tabIndex={0} dir="ltr">
    {content}
  </pre>
);

/** How a page shows what leads out of a text. The URLs are checked. */
export interface MarkdownLooks {
  readonly link: (url: string | undefined, children: Nodes) => VNode;
  readonly image: (url: string | undefined, alt: string) => VNode | string;
}

const LOOKS: MarkdownLooks = {
  link: (url, children) => <SafeLink url={url}>{children}</SafeLink>,
  image: (url, alt) => (url === undefined ? alt : <SafeImage url={url} alt={alt} />),
};

function opened(token: Token, children: Nodes, { link }: MarkdownLooks): VNode | undefined {
  if (token.type === 'link_open') return link(linkUrl(token.attrGet('href') ?? ''), children);
  if (!TAGS.has(token.tag)) return undefined;
  // Headings of a component stand below those of the page.
  const tag = token.tag.replace(/^h([1-4])$/, (_, level: string) => `h${Number(level) + 2}`);
  const start = token.tag === 'ol' ? Number(token.attrGet('start') ?? 1) : undefined;
  return createElement(tag, { dir: 'auto', ...(start !== undefined && { start }) }, ...children);
}

/** Tokens to elements, without recursion but for those of a paragraph. */
class Drawing {
  /** What a reference such as `[a]` means, from the whole text. */
  readonly #meanings: Record<string, unknown>;

  readonly #looks: MarkdownLooks;

  constructor(meanings: Record<string, unknown>, looks: MarkdownLooks) {
    this.#meanings = meanings;
    this.#looks = looks;
  }

  nodes(tokens: readonly Token[]): Nodes {
    const open: { token: Token | undefined; children: Nodes }[] = [{ token: undefined, children: [] }];
    for (const token of tokens) {
      const top = open.at(-1);
      if (top === undefined) break;
      if (token.nesting === 1) open.push({ token, children: [] });
      else if (token.nesting === -1) {
        open.pop();
        const element = top.token && opened(top.token, top.children, this.#looks);
        open.at(-1)?.children.push(...(element === undefined ? top.children : [element]));
      } else if (token.type === 'inline') top.children.push(...this.#paragraph(token.content));
      else if (token.type === 'image')
        top.children.push(this.#looks.image(webUrl(token.attrGet('src') ?? ''), token.content));
      else top.children.push(LEAVES[token.type]?.(token) ?? token.content);
    }
    return open[0]?.children ?? [];
  }

  #paragraph(text: string): Nodes {
    if (text.length > MARKED_UP_CHARS_MAX) return [text];
    const tokens: Parameters<(typeof READER)['inline']['parse']>[3] = [];
    READER.inline.parse(text, READER, this.#meanings, tokens);
    return this.nodes(tokens);
  }
}

/** @param max elements; a text that may open more is shown as it is written, and is not read */
export function drawnMarkdown(
  text: string,
  max: number = LIMITS.markdownElements,
  looks = LOOKS,
): { nodes: Nodes; isCut: boolean } {
  const shown = cutText(text, LIMITS.markdownChars);
  if (markdownElements(shown) > max) return { nodes: [<p>{shown}</p>], isCut: true };
  const meanings: Record<string, unknown> = {};
  const tokens = READER.parse(shown, meanings);
  return { nodes: new Drawing(meanings, looks).nodes(tokens), isCut: shown.length < text.length };
}

export function Markdown({ node }: ElementProps) {
  const content = useDynamic(node, 'content');
  const text = typeof content === 'string' ? content : '';
  const isBound = typeof member(node.attributes, 'content') !== 'string';
  const max = isBound ? LIMITS.boundMarkdownElements : LIMITS.markdownElements;
  const { nodes, isCut } = useMemo(() => drawnMarkdown(text, max), [text, max]);
  return (
    <div class="markdown" dir="auto">
      {nodes}
      {isCut && <CutNote />}
    </div>
  );
}

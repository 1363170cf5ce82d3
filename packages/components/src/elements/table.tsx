/**
 * The closed table from an element to what draws it. A name that is not in it draws nothing: there
 * is no way from a text of a tenant to a tag of the page.
 */
import type { FunctionComponent, VNode } from 'preact';
import type { DrawnNode } from '../drawing/drawn-tree.ts';
import { Button } from './button.tsx';
import { keyOf } from './children.tsx';
import { CodeBlock } from './code-block.tsx';
import { Input } from './field.tsx';
import { Image, InlineImage } from './image.tsx';
import { Markdown } from './markdown.tsx';
import { Modal } from './modal.tsx';
import type { ElementProps } from './scope.ts';
import { Select } from './select.tsx';
import { Block, Box, Card, Divider, HStack, VStack } from './stacks.tsx';
import { Stepper } from './stepper.tsx';
import { CutNote, Hint, InlineHint, InlineText, Link, PlainText, Text, TextBlock } from './text.tsx';
import { TextInput } from './text-input.tsx';
import { Checkbox, Radio, Switch } from './toggles.tsx';
import { WebFrame } from './web-frame.tsx';

const ELEMENTS: ReadonlyMap<string, FunctionComponent<ElementProps>> = new Map<
  string,
  FunctionComponent<ElementProps>
>([
  ['#text', TextBlock],
  ['#cut', CutNote],
  ['block', Block],
  ['modal', Modal],
  ['configuration', VStack],
  ['stepper', Stepper],
  ['vstack', VStack],
  ['hstack', HStack],
  ['box', Box],
  ['divider', Divider],
  ['text', Text],
  ['link', Link],
  ['hint', Hint],
  ['markdown', Markdown],
  ['image', Image],
  ['card', Card],
  ['button', Button],
  ['input', Input],
  ['textinput', TextInput],
  ['select', Select],
  ['switch', Switch],
  ['radio', Radio],
  ['checkbox', Checkbox],
  ['codeblock', CodeBlock],
  ['webframe', WebFrame],
]);

/** Those that look different in a line of text. */
const INLINE: ReadonlyMap<string, FunctionComponent<ElementProps>> = new Map([
  ['#text', PlainText],
  ['text', InlineText],
  ['hint', InlineHint],
  ['image', InlineImage],
]);

export function draw(node: DrawnNode, inline: boolean): VNode | null {
  const Element = (inline ? INLINE.get(node.type) : undefined) ?? ELEMENTS.get(node.type);
  if (Element === undefined) return null;
  return <Element key={keyOf(node)} node={node} />;
}

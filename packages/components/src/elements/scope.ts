/**
 * What the elements share: the stage and the component that they belong to, the values of their
 * attributes, and their actions.
 */
import { computed } from '@preact/signals';
import { createContext, type VNode } from 'preact';
import { useContext, useMemo } from 'preact/hooks';
import { cutText } from '../drawing/cut-text.ts';
import type { DrawnNode } from '../drawing/drawn-tree.ts';
import { member, textMember } from '../drawing/json.ts';
import { LIMITS } from '../limits.ts';
import type { ClientState } from '../session/client-state.ts';
import type { ComponentSession, Failure } from '../session/component-session.ts';
import type { Place, PressOptions, Stage } from '../session/stage.ts';

export interface Scope {
  readonly stage: Stage;
  readonly session: ComponentSession;
  /** Draws one node by the table of elements. */
  readonly draw: (node: DrawnNode, inline: boolean) => VNode | null;
}

export interface ElementProps {
  readonly node: DrawnNode;
}

const ScopeContext = createContext<Scope | undefined>(undefined);
export const ScopeProvider = ScopeContext.Provider;

export function useScope(): Scope {
  const scope = useContext(ScopeContext);
  if (scope === undefined) throw new Error('An element is drawn outside of a component.');
  return scope;
}

/** An attribute that is a short text. */
export function label(node: DrawnNode, name: string): string | undefined {
  const text = textMember(node.attributes, name);
  return text === undefined ? undefined : cutText(text, LIMITS.labelChars);
}

/** An attribute that may be bound to client state; the element is drawn again when it changes. */
export function useDynamic(node: DrawnNode, name: string): unknown {
  const { session } = useScope();
  return session.client.dynamic(member(node.attributes, name));
}

export const useDynamicText = (node: DrawnNode, name: string, max: number = LIMITS.labelChars): string =>
  cutText(textOf(useDynamic(node, name)), max);

/** A value as text: a number may stand where a text may. */
export const textOf = (value: unknown): string =>
  typeof value === 'string' || typeof value === 'number' ? String(value) : '';

/** Listeners of a field for text. */
export const typing = (client: ClientState, key: string) => ({
  onInput: (event: { currentTarget: HTMLInputElement | HTMLTextAreaElement }) =>
    client.enter(key, event.currentTarget.value),
  // Another value of the field would end what the user composes.
  onCompositionStart: () => client.compose(key),
  onCompositionEnd: () => client.compose(undefined),
  onBlur: () => client.compose(undefined),
});

/** Whether an element cannot be used. */
export const useDisabled = (node: DrawnNode): boolean => useDynamic(node, 'disabled') === true;

/** Whether an action of the element runs or waits, and why the last one failed. */
export function useProgress(path: string): { busy: boolean; failure: Failure | undefined } {
  const { session } = useScope();
  // Followed one by one: an action elsewhere does not draw this element again.
  const busy = useMemo(() => computed(() => session.busy.value.has(path)), [session, path]);
  const failure = useMemo(() => computed(() => session.failures.value.get(path)), [session, path]);
  return { busy: busy.value, failure: failure.value };
}

/** Dispatches an action of this element. @returns whether it was dispatched */
export function usePress(node: DrawnNode): (name: string, options?: PressOptions) => Promise<boolean> {
  const { stage, session } = useScope();
  const place: Place = { session, path: node.path };
  return (name, options = {}) => {
    const confirm = member(node.attributes, 'confirm');
    return stage.press(place, member(node.attributes, name), { confirm, ...options });
  };
}

/**
 * `@annex/components/react`: the tags `<annex-component>`, `<annex-configuration>`,
 * `<annex-webhooks>` and `<annex-insert-menu>` as components of React, which set their properties
 * and listen to their events. React is a peer dependency of this file alone.
 */
import {
  createElement,
  type HTMLAttributes,
  type ReactElement,
  useEffect,
  useLayoutEffect,
  useRef,
} from 'react';
import type { ConfigurationWords, FormTransport } from './configuration.ts';
import type { AnnexComponent as AnnexElement, Theme, Words } from './index.ts';
import type { InsertBlock, InsertWords, AnnexInsertMenu as MenuElement } from './insert-menu.ts';
import type { ChoiceReader, JsonObject, Transport } from './transport.ts';
import type { WebhookWords } from './webhooks.ts';
import './configuration.ts';
import './index.ts';
import './insert-menu.ts';
import './webhooks.ts';

export interface AnnexComponentProps {
  /** The same function at each rendering: another one draws the component anew. */
  readonly transport: Transport;
  readonly componentId: string;
  readonly props?: JsonObject;
  readonly context?: JsonObject;
  readonly choices?: ChoiceReader;
  readonly theme?: Theme;
  readonly words?: Partial<Words>;
  readonly onRender?: (event: CustomEvent<JsonObject>) => void;
  readonly onComplete?: (event: CustomEvent<{ returnValue?: unknown }>) => void;
  readonly onError?: (event: CustomEvent<{ componentId: string; code: string; message: string }>) => void;
  /** `preventDefault()` keeps it from opening the URL itself. */
  readonly onNavigate?: (event: CustomEvent<{ url: string }>) => void;
  readonly onUnfurl?: (event: CustomEvent<{ url: string }>) => void;
  readonly onProps?: (event: CustomEvent<{ props: JsonObject }>) => void;
}

const NO_PROPS: JsonObject = {};

export const AnnexComponent = (given: AnnexComponentProps): ReactElement =>
  useTag<AnnexElement, AnnexComponentProps>(
    'annex-component',
    given,
    {
      'annex-render': 'onRender',
      'annex-complete': 'onComplete',
      'annex-error': 'onError',
      'annex-navigate': 'onNavigate',
      'annex-unfurl': 'onUnfurl',
      'annex-props': 'onProps',
    },
    (element) => {
      if (given.choices !== undefined) element.choices = given.choices;
      element.context = given.context;
      element.props = given.props ?? NO_PROPS;
      element.componentId = given.componentId;
      element.theme = given.theme ?? 'auto';
      element.transport = given.transport;
    },
  );

/** A tag with the words and the listeners of its component. @param events name → the listener's */
function useTag<Element extends HTMLElement & { words: object }, Given extends { readonly words?: object }>(
  tag: string,
  given: Given,
  events: Readonly<Record<string, keyof Given>>,
  set: (element: Element) => void,
): ReactElement {
  const element = useRef<Element>(null);
  const latest = useRef(given);
  useLayoutEffect(() => {
    latest.current = given;
    const { current } = element;
    if (current === null) return;
    if (given.words !== undefined) current.words = given.words;
    set(current);
  });
  useEffect(() => {
    const { current } = element;
    const listen = (event: Event) => {
      const name = events[event.type];
      if (name !== undefined) (latest.current[name] as ((event: Event) => void) | undefined)?.(event);
    };
    for (const type of Object.keys(events)) current?.addEventListener(type, listen);
    return () => {
      for (const type of Object.keys(events)) current?.removeEventListener(type, listen);
    };
  }, []);
  return createElement<HTMLAttributes<Element>, Element>(tag, { ref: element });
}

/** What the tags for one target have. */
interface TargetElement extends HTMLElement {
  transport: FormTransport | undefined;
  words: object;
}

export interface AnnexConfigurationProps {
  /** The same function at each rendering: another one begins anew. */
  readonly transport: FormTransport;
  readonly words?: Partial<ConfigurationWords>;
  readonly onSaved?: (event: CustomEvent<{ status: 'active' | 'pending' | 'paused' }>) => void;
}

export interface AnnexWebhooksProps {
  /** The same function at each rendering: another one begins anew. */
  readonly transport: FormTransport;
  readonly words?: Partial<WebhookWords>;
  /** The settings were saved. */
  readonly onSaved?: AnnexConfigurationProps['onSaved'];
}

export interface AnnexInsertMenuProps {
  /** Gives the blocks that can be inserted here: `GET /v1/blocks`. */
  readonly read: () => Promise<readonly InsertBlock[]>;
  /** How the component of a block is drawn. */
  readonly transport: (block: InsertBlock) => Transport;
  readonly words?: Partial<InsertWords>;
  /** A block was chosen: put the component where it belongs. */
  readonly onInsert?: (event: CustomEvent<{ block: InsertBlock; component: AnnexElement }>) => void;
}

export const AnnexConfiguration = (given: AnnexConfigurationProps): ReactElement =>
  useTargetTag('annex-configuration', given);

export const AnnexWebhooks = (given: AnnexWebhooksProps): ReactElement =>
  useTargetTag('annex-webhooks', given);

/** A tag for one target. */
const useTargetTag = (tag: string, given: AnnexConfigurationProps | AnnexWebhooksProps): ReactElement =>
  useTag<TargetElement, typeof given>(tag, given, { 'annex-saved': 'onSaved' }, (element) => {
    element.transport = given.transport;
  });

export const AnnexInsertMenu = (given: AnnexInsertMenuProps): ReactElement =>
  useTag<MenuElement, AnnexInsertMenuProps>(
    'annex-insert-menu',
    given,
    { 'annex-insert': 'onInsert' },
    (element) => {
      element.read = given.read;
      element.transport = given.transport;
    },
  );

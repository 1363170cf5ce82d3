/**
 * `@annex/components/react`: the tags `<annex-component>`, `<annex-configuration>` and
 * `<annex-webhooks>` as components of React, which set their properties and listen to their events. React is a peer dependency of
 * this file alone.
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
import type { ChoiceReader, JsonObject, Transport } from './transport.ts';
import type { WebhookWords } from './webhooks.ts';
import './configuration.ts';
import './index.ts';
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

const EVENTS = {
  'annex-render': 'onRender',
  'annex-complete': 'onComplete',
  'annex-error': 'onError',
  'annex-navigate': 'onNavigate',
  'annex-unfurl': 'onUnfurl',
  'annex-props': 'onProps',
} as const;

const NO_PROPS: JsonObject = {};

export function AnnexComponent(given: AnnexComponentProps): ReactElement {
  const element = useRef<AnnexElement>(null);
  const latest = useRef(given);
  useLayoutEffect(() => {
    latest.current = given;
    const { current } = element;
    if (current === null) return;
    if (given.choices !== undefined) current.choices = given.choices;
    if (given.words !== undefined) current.words = given.words;
    current.context = given.context;
    current.props = given.props ?? NO_PROPS;
    current.componentId = given.componentId;
    current.theme = given.theme ?? 'auto';
    current.transport = given.transport;
  });
  useEffect(() => {
    const { current } = element;
    const listen = (event: Event) => {
      const name = EVENTS[event.type as keyof typeof EVENTS];
      (latest.current[name] as ((event: Event) => void) | undefined)?.(event);
    };
    for (const type of Object.keys(EVENTS)) current?.addEventListener(type, listen);
    return () => {
      for (const type of Object.keys(EVENTS)) current?.removeEventListener(type, listen);
    };
  }, []);
  return createElement<HTMLAttributes<AnnexElement>, AnnexElement>('annex-component', { ref: element });
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

export const AnnexConfiguration = (given: AnnexConfigurationProps): ReactElement =>
  useTargetTag('annex-configuration', given);

export const AnnexWebhooks = (given: AnnexWebhooksProps): ReactElement =>
  useTargetTag('annex-webhooks', given);

/** A tag for one target. */
function useTargetTag(tag: string, given: AnnexConfigurationProps | AnnexWebhooksProps): ReactElement {
  const element = useRef<TargetElement>(null);
  const latest = useRef(given);
  useLayoutEffect(() => {
    latest.current = given;
    const { current } = element;
    if (current === null) return;
    if (given.words !== undefined) current.words = given.words;
    current.transport = given.transport;
  });
  useEffect(() => {
    const { current } = element;
    const listen = (event: Event) => latest.current.onSaved?.(event as CustomEvent);
    current?.addEventListener('annex-saved', listen);
    return () => current?.removeEventListener('annex-saved', listen);
  }, []);
  return createElement<HTMLAttributes<TargetElement>, TargetElement>(tag, { ref: element });
}

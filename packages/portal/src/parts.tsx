/** What the views share: answers in their states, integrations, targets, the tags. */
import { type ComponentChildren, h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { InstallationInSite, InstallationInSpace } from '../../client/src/generated.ts';
import type { AnnexConfiguration } from '../../components/src/configuration.ts';
import type { AnnexWebhooks } from '../../components/src/webhooks.ts';
import { State } from '../../ui/src/shown-values.tsx';
import { Callout, Skeleton } from '../../ui/src/widgets.tsx';
import { ApiError, type Asked, at, transportOf } from './portal-api.ts';
import type { Words } from './words.ts';

export type Placed = InstallationInSpace | InstallationInSite;

export interface ShownProps<T> {
  readonly asked: Asked<T>;
  readonly words: Words;
  readonly children: (value: T) => ComponentChildren;
}

/** The answer, or why there is none. */
export function Shown<T>({ asked, words, children }: ShownProps<T>) {
  const { value, failure, again } = asked;
  return (
    <>
      {failure && <FailureNote {...{ failure, words, again }} />}
      {value !== undefined ? children(value) : !failure && <Skeleton rows={3} words={words.loading} />}
    </>
  );
}

interface FailureProps {
  readonly failure: Error;
  readonly words: Words;
  readonly again?: () => void;
}

/** A refusal in the service's words, with the id by which its log has it. */
export function FailureNote({ failure, words, again }: FailureProps) {
  const isApi = failure instanceof ApiError;
  return (
    <Callout tone="bad" role="alert">
      <p dir="auto">{isApi ? failure.message : words.unreachable}</p>
      {isApi && failure.requestId !== undefined && (
        <p class="hint">
          {words.request} <code>{failure.requestId}</code>
        </p>
      )}
      {again && (
        <button type="button" class="button" onClick={again}>
          {words.retry}
        </button>
      )}
    </Callout>
  );
}

const TONES = { active: 'good', pending: 'warn', paused: 'info' } as const;

export const Status = ({ status, words }: { readonly status: keyof typeof TONES; readonly words: Words }) => (
  <State tone={TONES[status]}>{words[status]}</State>
);

/** Path of an installation in the API, or of its part in a space or a site. */
export function targetPath(integration: string, installation: string, part: readonly string[] = []): string {
  return `/${at('integrations', integration, 'installations', installation, ...part)}`;
}

/** The part of a place in a path of the API and of the portal. */
export const partOf = (placed: Placed): readonly string[] =>
  'space' in placed ? ['spaces', placed.space] : ['sites', placed.site];

/** A level and an id in the product's words. */
export const placeTitle = (part: readonly string[], words: Words): string => {
  const [level, id = ''] = part;
  if (level === undefined) return words.whole;
  return `${level === 'spaces' ? words.space : words.site} ${id}`;
};

interface TagProps {
  /** Path of a target in the API. */
  readonly target: string;
  readonly words: Words;
  readonly saved?: () => void;
}

export function Configuration({ target, words, saved }: TagProps) {
  const transport = useMemo(() => transportOf(target), [target]);
  return h('annex-configuration', {
    key: target,
    ref: (element: AnnexConfiguration | null) => {
      if (element === null) return;
      element.words = words.form;
      element.transport = transport;
    },
    'onannex-saved': saved,
  });
}

export function Webhooks({ target, words }: TagProps) {
  const transport = useMemo(() => transportOf(target), [target]);
  return h('annex-webhooks', {
    key: target,
    ref: (element: AnnexWebhooks | null) => {
      if (element === null) return;
      element.words = words.tag;
      element.transport = transport;
    },
  });
}

/** What the views share: integrations, targets, the tags. */
import { h } from 'preact';
import { useMemo } from 'preact/hooks';
import type { InstallationInSite, InstallationInSpace } from '../../client/src/generated.ts';
import type { AnnexConfiguration } from '../../components/src/configuration.ts';
import type { AnnexWebhooks } from '../../components/src/webhooks.ts';
import { State } from '../../ui/src/shown-values.tsx';
import { at, transportOf } from './portal-api.ts';
import type { Words } from './words.ts';

export type Placed = InstallationInSpace | InstallationInSite;

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

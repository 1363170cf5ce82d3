/**
 * A realistic sample of each event that the host product posts, with fields that a command line
 * sets. Names and addresses are those reserved for examples (RFC 2606, RFC 5737). The service
 * checks the result.
 */
import { EVENT_TYPE } from '../../model/identifiers.ts';
import { UsageError } from '../terminal/failure.ts';

const VISITED = {
  visitor: {
    anonymousId: 'b0c6f1a2-7d1e-4b7c-9d3e-2f5a8c1e6d40',
    userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
    ip: '192.0.2.44',
    cookies: { theme: 'dark' },
    language: 'en-GB',
  },
  url: 'https://docs.example.com/getting-started',
  referrer: 'https://www.example.org/search',
};
const PAGE = { pageId: 'getting-started' };
const GIT = { revisionId: 'rev-2026-01', commitId: '4f9d2c6b1e7a3058c4d5e6f708192a3b4c5d6e7f' };

type Members = Readonly<Record<string, unknown>>;
export interface Sample {
  readonly level: 'organization' | 'space' | 'site';
  /** Of a type that the product has declared. */
  readonly isDeclared?: true;
  readonly members: Members;
}

export const SAMPLES: Readonly<Record<string, Sample>> = {
  space_view: { level: 'space', members: { ...PAGE, ...VISITED } },
  space_content_updated: { level: 'space', members: { revisionId: 'rev-2026-01' } },
  space_visibility_updated: {
    level: 'space',
    members: { previousVisibility: 'private', visibility: 'public' },
  },
  space_gitsync_started: { level: 'space', members: GIT },
  space_gitsync_completed: { level: 'space', members: { ...GIT, state: 'success' } },
  site_view: { level: 'site', members: { ...PAGE, ...VISITED } },
  page_feedback: {
    level: 'site',
    members: { ...PAGE, feedback: { rating: 'good', comment: 'Just what I looked for.' }, ...VISITED },
  },
};

/** What code receives beside posted events, and the command that causes it. */
const CAUSED_BY: Readonly<Record<string, string>> = {
  fetch: 'annex call <installation>',
  ui_render: 'annex render <installation> <component>',
  installation_setup: 'annex configure <installation>',
  installation_deleted: 'annex uninstall <installation>',
  space_installation_setup: 'annex api POST {target}/spaces',
  space_installation_deleted: 'annex api DELETE {target}/spaces/{space}',
  site_installation_setup: 'annex api POST {target}/sites',
  site_installation_deleted: 'annex api DELETE {target}/sites/{site}',
  task: '`queueTask` in the code of the integration',
  fetch_published_script: 'annex api GET {target}/sites/{site}/script',
  fetch_visitor_authentication: 'annex api POST {target}/sites/{site}/visitor-authentication',
  content_compute_revision: 'annex api POST {target}/content-sources/{source}/compute',
  content_compute_document: 'annex api POST {target}/content-sources/{source}/compute',
};

/**
 * A type of a sample, or one that the product may have declared.
 * @throws UsageError with a sentence about the type
 */
export function sampleType(type: string): string {
  if (Object.hasOwn(SAMPLES, type)) return type;
  if (Object.hasOwn(CAUSED_BY, type))
    throw new UsageError(`"${type}" is not posted as an event. What causes it: ${CAUSED_BY[type]}`);
  if (EVENT_TYPE.test(type)) return type;
  throw unknownType(type);
}

/** @param declared types that the product has declared */
export const unknownType = (type: string, declared: readonly string[] = []): UsageError =>
  new UsageError(
    `"${type}" is not an event. The events are ${[...Object.keys(SAMPLES), ...declared].join(', ')}.`,
  );

const MEMBER = /^(?<path>[A-Za-z_$][\w$-]*(?:\.[A-Za-z_$][\w$-]*)*)=(?<value>.*)$/s;

/** @throws UsageError with a sentence about the field */
export function field(text: string): string {
  if (MEMBER.test(text)) return text;
  throw new UsageError(`"${text}" is not a field: write it as name=value, or visitor.ip=192.0.2.1.`);
}

/** A value that is JSON is used as such; any other one is a text. */
export function withFields(event: Members, fields: readonly string[]): Members {
  const changed = structuredClone(event) as Record<string, unknown>;
  for (const text of fields) {
    const { path = '', value = '' } = MEMBER.exec(text)?.groups ?? {};
    const names = path.split('.');
    const last = names.pop() ?? '';
    let at = changed;
    for (const name of names) {
      // Attack: a field that names the prototype of all objects. `Object.hasOwn` does not see it.
      const inner = Object.hasOwn(at, name) ? at[name] : undefined;
      const next = typeof inner === 'object' && inner !== null ? (inner as Record<string, unknown>) : {};
      Object.defineProperty(at, name, { value: next, ...PLAIN });
      at = next;
    }
    Object.defineProperty(at, last, { value: jsonOrText(value), ...PLAIN });
  }
  return changed;
}

const PLAIN = { enumerable: true, writable: true, configurable: true };

function jsonOrText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

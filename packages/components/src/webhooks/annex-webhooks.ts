/**
 * `<annex-webhooks>`: the webhook of one installation in a page of the host product, or of its part in
 * a space or a site: where it sends, its secret, a test, and each attempt at a delivery.
 *
 * Set `transport`, of a token that is made with `webhook`. The form in it is `<annex-configuration>`.
 */
import { h } from 'preact';
import type { FormTransport } from '../configuration/form-transport.ts';
import type { AnnexConfiguration } from '../configuration.ts';
import { defineTag, type Shown, TargetElement } from '../target-element.ts';
import { WebhookSession } from './webhook-session.ts';
import { WebhooksView } from './webhooks-view.tsx';
import { WEBHOOK_WORDS, type WebhookWords } from './words.ts';

const STYLES = `
:host { container-type: inline-size; }
h3 { font-size: var(--head-s); line-height: 1.25; margin: 0; }
.webhooks { display: grid; gap: var(--space-24); padding: var(--space-4); }
.part { display: grid; gap: var(--space-12); align-content: start; min-inline-size: 0; }
.part-head { display: flex; flex-wrap: wrap; gap: var(--space-12); align-items: baseline; justify-content: space-between; }
annex-configuration { margin: -4px; max-inline-size: none; }
.parts { display: grid; gap: var(--space-24); align-content: start; }
section > .field { max-inline-size: 560px; }
.secret { overflow-wrap: anywhere; }
.secret-line { display: flex; flex-wrap: wrap; gap: var(--space-8); align-items: center; padding: var(--space-4) var(--space-8); background: var(--raised); border-radius: var(--radius); }
.said:empty { display: none; }
.deliveries { padding: 0; list-style: none; border: 1px solid var(--line); border-radius: var(--radius-surface); overflow: hidden; }
.deliveries > li + li { border-block-start: 1px solid var(--line); }
.delivery { display: grid; grid-template-columns: 16px 120px minmax(0, 1fr) minmax(0, auto) 96px; gap: var(--space-12); align-items: center; inline-size: 100%; min-block-size: 36px; padding: 4px var(--space-12); border: none; background: none; color: inherit; font: inherit; font-size: var(--text-m); text-align: start; cursor: pointer; }
.delivery:hover { background: var(--raised); }
.delivery:focus-visible { outline-offset: -2px; }
.delivery > .icon { transform: rotate(-90deg); transition: transform var(--motion); color: var(--quiet-text); }
:dir(rtl) .delivery > .icon { transform: rotate(90deg); }
.delivery[aria-expanded="true"] > .icon { transform: none; }
.delivery > time { text-align: end; }
.what { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; font-weight: 600; }
.opened { display: grid; gap: var(--space-12); padding: var(--space-8) var(--space-12) var(--space-16) 40px; }
summary { font-size: var(--text-m); }
summary > .state { margin-inline: var(--space-4) var(--space-8); }
.line { font-size: var(--text-m); }
@container (min-width: 760px) {
  .webhooks { grid-template-columns: minmax(0, 3fr) minmax(0, 2fr); column-gap: var(--space-48); }
  .webhooks > :is(.wide, .callout, .as-fields) { grid-column: 1 / -1; }
}
@container (max-width: 560px) {
  .delivery { grid-template-columns: 16px minmax(0, 1fr) auto; row-gap: 0; padding-block: var(--space-8); }
  .delivery > .what { grid-row: 1; grid-column: 2; }
  .delivery > time { grid-row: 1; grid-column: 3; }
  .delivery > .state { grid-row: 2; grid-column: 2; }
  .delivery > .hint { grid-row: 2; grid-column: 3; text-align: end; }
  .opened { padding-inline-start: var(--space-12); }
}
`;

export class AnnexWebhooks extends TargetElement<WebhookWords> {
  constructor() {
    super(WEBHOOK_WORDS, STYLES);
  }

  protected begin(transport: FormTransport, words: WebhookWords): Shown {
    const session = new WebhookSession(transport);
    const locale = this.closest<HTMLElement>('[lang]')?.lang || 'en';
    const form = h('annex-configuration', {
      ref: (element: AnnexConfiguration | null) => {
        if (element === null) return;
        element.words = words.form;
        element.transport = transport;
      },
      'onannex-saved': () => void session.load(),
    });
    void session.load();
    return { view: h(WebhooksView, { session, words, locale, form }), end: () => session.end() };
  }
}

/** Makes the tag known to the page, once. */
export const defineAnnexWebhooks = (tag = 'annex-webhooks'): void => defineTag(tag, AnnexWebhooks);

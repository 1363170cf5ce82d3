/**
 * `<annex-configuration>`: the configuration of one installation in a page of the host product, or of
 * its part in a space or a site.
 *
 * Set `transport`. It reads the form once it is in a page, and tells the page by `annex-saved`, which
 * bubbles. Settings that a component draws are drawn by `<annex-component>`, whose module is loaded
 * only then.
 */
import { h } from 'preact';
import type { AnnexComponent } from '../index.ts';
import { defineTag, type Shown, TargetElement } from '../target-element.ts';
import { FormSession } from './form-session.ts';
import type { FormTransport } from './form-transport.ts';
import { FormView } from './form-view.tsx';
import { CONFIGURATION_WORDS, type ConfigurationWords } from './words.ts';

const STYLES = `
.form { display: grid; gap: var(--space-16); padding: var(--space-4); max-inline-size: 560px; }
.setting { display: grid; gap: var(--space-8); min-inline-size: 0; }
.foot { padding-block-start: var(--space-4); }
.said { display: inline-flex; gap: 6px; align-items: center; }
.said .icon { color: var(--good); }
.connection { display: grid; gap: var(--space-8); }
.connected { display: flex; gap: 6px; align-items: flex-start; }
.connected .icon { margin-block-start: 3px; color: var(--good); }
`;

export class AnnexConfiguration extends TargetElement<ConfigurationWords> {
  #session: FormSession | undefined;

  constructor() {
    super(CONFIGURATION_WORDS, STYLES);
  }

  protected begin(transport: FormTransport, words: ConfigurationWords): Shown {
    const session = new FormSession(transport, words, ({ status }) => {
      this.dispatchEvent(
        new CustomEvent('annex-saved', { detail: { status }, bubbles: true, composed: true }),
      );
    });
    this.#session = session;
    const drawn = (componentId: string) => h(DrawnSettings, { componentId, session });
    void session.load();
    return { view: h(FormView, { session, words, drawn }), end: () => session.end() };
  }

  /** Reads the configuration again; what was entered stays. */
  refresh(): void {
    void this.#session?.load();
  }
}

/** Settings that a component draws. */
function DrawnSettings({ componentId, session }: { componentId: string; session: FormSession }) {
  const attach = (host: HTMLElement | null) => {
    if (host === null || host.firstChild !== null) return;
    void import('../index.ts').then(() => {
      const component = document.createElement('annex-component') as AnnexComponent;
      component.componentId = componentId;
      component.transport = (request, signal) =>
        session.ask({ method: 'POST', path: '/render', body: request }, signal);
      host.replaceChildren(component);
    });
  };
  return h('div', { ref: attach });
}

/** Makes the tag known to the page, once. */
export const defineAnnexConfiguration = (tag = 'annex-configuration'): void =>
  defineTag(tag, AnnexConfiguration);

/**
 * `<annex-configuration>`: the configuration of one installation in a page of the host product, or of
 * its part in a space or a site.
 *
 * Set `transport`. It reads the form once it is in a page, and tells the page by `annex-saved`, which
 * bubbles. Settings that a component draws are drawn by `<annex-component>`, whose module is loaded
 * only then.
 */
import { h, render } from 'preact';
import { WIDGET_STYLES } from '../../../ui/src/stylesheet.ts';
import type { AnnexComponent } from '../index.ts';
import { FormSession } from './form-session.ts';
import type { FormTransport } from './form-transport.ts';
import { FormView } from './form-view.tsx';
import { CONFIGURATION_WORDS, type ConfigurationWords } from './words.ts';

const STYLES = `${WIDGET_STYLES}
.form { display: grid; gap: var(--space-16); padding: var(--space-4); max-inline-size: 560px; }
.setting { display: grid; gap: var(--space-8); min-inline-size: 0; }
.foot { padding-block-start: var(--space-4); }
.said { display: inline-flex; gap: 6px; align-items: center; }
.said .icon { color: var(--good); }
.connection { display: grid; gap: var(--space-8); }
.connected { display: flex; gap: 6px; align-items: flex-start; }
.connected .icon { margin-block-start: 3px; color: var(--good); }
`;

/** On a server there are no elements; the module can be imported all the same. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

let sheet: CSSStyleSheet | undefined;
function styleSheet(): CSSStyleSheet {
  if (sheet === undefined) {
    sheet = new CSSStyleSheet();
    sheet.replaceSync(STYLES);
  }
  return sheet;
}

export class AnnexConfiguration extends Base {
  #transport: FormTransport | undefined;
  #words: ConfigurationWords = CONFIGURATION_WORDS;
  #session: FormSession | undefined;

  /** How it reads and saves the configuration. */
  get transport(): FormTransport | undefined {
    return this.#transport;
  }
  set transport(transport: FormTransport | undefined) {
    if (transport === this.#transport) return;
    this.#transport = transport;
    this.reload();
  }

  /** The words that it shows itself. */
  get words(): ConfigurationWords {
    return this.#words;
  }
  set words(words: Partial<ConfigurationWords>) {
    const merged = { ...CONFIGURATION_WORDS, ...words };
    if (JSON.stringify(merged) === JSON.stringify(this.#words)) return;
    this.#words = merged;
    this.reload();
  }

  /** Begins anew, without what was entered. */
  reload(): void {
    this.#finish();
    const { shadowRoot } = this;
    if (!this.isConnected || shadowRoot === null || this.#transport === undefined) return;
    const session = new FormSession(this.#transport, this.#words, ({ status }) => {
      this.dispatchEvent(
        new CustomEvent('annex-saved', { detail: { status }, bubbles: true, composed: true }),
      );
    });
    this.#session = session;
    const drawn = (componentId: string) => h(DrawnSettings, { componentId, session });
    render(h(FormView, { session, words: this.#words, drawn }), shadowRoot);
    void session.load();
  }

  /** Reads the configuration again; what was entered stays. */
  refresh(): void {
    void this.#session?.load();
  }

  connectedCallback(): void {
    if (this.shadowRoot === null) this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [styleSheet()];
    this.reload();
  }

  disconnectedCallback(): void {
    this.#finish();
  }

  #finish(): void {
    this.#session?.end();
    this.#session = undefined;
    if (this.shadowRoot !== null) render(null, this.shadowRoot);
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
export function defineAnnexConfiguration(tag = 'annex-configuration'): void {
  if (globalThis.customElements !== undefined && customElements.get(tag) === undefined)
    customElements.define(tag, AnnexConfiguration);
}

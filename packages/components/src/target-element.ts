/**
 * What the tags for one target share: a transport, the words that the tag shows itself, and a shadow
 * root that is drawn anew when either changes.
 */
import { type ComponentChild, render } from 'preact';
import { styleSheet, WIDGET_STYLES } from '../../ui/src/stylesheet.ts';
import type { FormTransport } from './configuration/form-transport.ts';

/** On a server there are no elements; the module can be imported all the same. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

/** What a tag shows from its beginning to its end. */
export interface Shown {
  readonly view: ComponentChild;
  readonly end: () => void;
}

export abstract class TargetElement<Words extends object> extends Base {
  /** Made once for all tags of a kind. */
  static readonly #sheets = new Map<string, CSSStyleSheet>();
  readonly #styles: string;
  #transport: FormTransport | undefined;
  readonly #defaults: Words;
  #words: Words;
  #end: (() => void) | undefined;

  /** @param styles below those of the widgets */
  constructor(words: Words, styles: string) {
    super();
    this.#defaults = words;
    this.#words = words;
    this.#styles = styles;
  }

  protected abstract begin(transport: FormTransport, words: Words): Shown;

  /** How it reaches its target. */
  get transport(): FormTransport | undefined {
    return this.#transport;
  }
  set transport(transport: FormTransport | undefined) {
    if (transport === this.#transport) return;
    this.#transport = transport;
    this.reload();
  }

  /** The words that it shows itself. */
  get words(): Words {
    return this.#words;
  }
  set words(words: Partial<Words>) {
    const merged = { ...this.#defaults, ...words };
    if (JSON.stringify(merged) === JSON.stringify(this.#words)) return;
    this.#words = merged;
    this.reload();
  }

  /** Begins anew, without what was entered. */
  reload(): void {
    this.#finish();
    const { shadowRoot } = this;
    if (!this.isConnected || shadowRoot === null || this.#transport === undefined) return;
    const { view, end } = this.begin(this.#transport, this.#words);
    this.#end = end;
    render(view, shadowRoot);
  }

  connectedCallback(): void {
    if (this.shadowRoot === null) {
      const sheets = TargetElement.#sheets;
      const sheet = sheets.get(this.#styles) ?? styleSheet(`${WIDGET_STYLES}\n${this.#styles}`);
      sheets.set(this.#styles, sheet);
      this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [sheet];
    }
    this.reload();
  }

  disconnectedCallback(): void {
    this.#finish();
  }

  #finish(): void {
    this.#end?.();
    this.#end = undefined;
    if (this.shadowRoot !== null) render(null, this.shadowRoot);
  }
}

/** Makes a tag known to the page, once. */
export function defineTag(tag: string, element: CustomElementConstructor): void {
  if (globalThis.customElements !== undefined && customElements.get(tag) === undefined)
    customElements.define(tag, element);
}

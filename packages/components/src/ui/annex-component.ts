/**
 * `<annex-component>`: a component of an integration in a page of the host product.
 *
 * Set `transport`, `componentId` and, if there are any, `props` and `context`. It draws itself once
 * it is in a page and has the first two, and again when one of them changes. It tells the page by
 * events, of which all bubble: `annex-render`, `annex-complete`, `annex-error`, `annex-navigate`,
 * `annex-page`, `annex-unfurl`, `annex-props`.
 *
 * A shadow root keeps the styles of the page and those of the component apart. Its style sheet is
 * constructed, which every content security policy allows.
 */
import { h, render } from 'preact';
import { styleSheet } from '../../../ui/src/stylesheet.ts';
import { cacheOf } from '../session/answer-cache.ts';
import { Stage, type Surroundings } from '../session/stage.ts';
import type { ChoiceReader, JsonObject, ShownPage, Transport } from '../transport.ts';
import { WORDS, type Words } from '../words.ts';
import { StageView } from './stage-view.tsx';
import { STYLESHEET } from './stylesheet.ts';

export type Theme = 'light' | 'dark' | 'auto';

/** On a server there are no elements; the module can be imported all the same. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

let sheet: CSSStyleSheet | undefined;

export class AnnexComponent extends Base {
  static readonly observedAttributes = ['component-id'];

  #transport: Transport | undefined;
  #choices: ChoiceReader | undefined;
  #props: JsonObject = {};
  #context: JsonObject | undefined;
  #surroundings: Surroundings = {};
  #words: Words = WORDS;
  #stage: Stage | undefined;
  #isPlanned = false;

  /** How it asks for drawings. */
  get transport(): Transport | undefined {
    return this.#transport;
  }
  set transport(transport: Transport | undefined) {
    if (transport === this.#transport) return;
    this.#transport = transport;
    this.reload();
  }

  /** How it reads choices from a URL; by default through the transport. */
  get choices(): ChoiceReader | undefined {
    return this.#choices;
  }
  set choices(choices: ChoiceReader | undefined) {
    this.#choices = choices;
  }

  get componentId(): string {
    return this.getAttribute('component-id') ?? '';
  }
  set componentId(id: string) {
    this.setAttribute('component-id', id);
  }

  /** Props of the component, as JSON: it is drawn again only if they differ. */
  get props(): JsonObject {
    return this.#props;
  }
  set props(props: JsonObject) {
    if (JSON.stringify(props) === JSON.stringify(this.#props)) return;
    this.#props = props;
    this.reload();
  }

  /** Where it is shown. */
  get context(): JsonObject | undefined {
    return this.#context;
  }
  set context(context: JsonObject | undefined) {
    if (JSON.stringify(context) === JSON.stringify(this.#context)) return;
    this.#context = context;
    this.reload();
  }

  /** The page that it is shown on, for its frames. */
  get page(): ShownPage | undefined {
    return this.#surroundings.page;
  }
  set page(page: ShownPage | undefined) {
    this.#surround({ page });
  }

  /** Claims of the visitor, for the frames of integrations that may see them. */
  get visitor(): JsonObject | undefined {
    return this.#surroundings.visitor;
  }
  set visitor(visitor: JsonObject | undefined) {
    this.#surround({ visitor });
  }

  #surround(changed: Surroundings): void {
    this.#surroundings = { ...this.#surroundings, ...changed };
    if (this.#stage !== undefined) this.#stage.surroundings.value = this.#surroundings;
  }

  /** `light`, `dark`, or `auto` as the page is. */
  get theme(): Theme {
    const theme = this.getAttribute('theme');
    return theme === 'light' || theme === 'dark' ? theme : 'auto';
  }
  set theme(theme: Theme) {
    this.setAttribute('theme', theme);
  }

  /** The words that it shows itself. */
  get words(): Words {
    return this.#words;
  }
  set words(words: Partial<Words>) {
    this.#words = { ...WORDS, ...words };
  }

  /** Draws it anew, without the state that it has. */
  reload(): void {
    if (this.#isPlanned || !this.isConnected) return;
    this.#isPlanned = true;
    // Several properties that are set together are one drawing.
    queueMicrotask(() => {
      this.#isPlanned = false;
      this.#begin();
    });
  }

  /**
   * Draws it again with the state and props that it has, and asks the code for it: what the code
   * reads elsewhere has changed, such as the configuration of the installation.
   */
  refresh(): void {
    this.#stage?.refresh();
  }

  connectedCallback(): void {
    if (this.shadowRoot === null) {
      const root = this.attachShadow({ mode: 'open', delegatesFocus: false });
      sheet ??= styleSheet(STYLESHEET);
      root.adoptedStyleSheets = [sheet];
    }
    this.reload();
  }

  disconnectedCallback(): void {
    this.#finish();
  }

  attributeChangedCallback(_name: string, before: string | null, after: string | null): void {
    if (before !== after) this.reload();
  }

  #begin(): void {
    this.#finish();
    const { componentId, shadowRoot, transport } = this;
    if (!this.isConnected || shadowRoot === null || componentId === '' || transport === undefined) return;
    const stage = new Stage({
      transport,
      ...(this.#choices !== undefined && { choices: this.#choices }),
      words: this.#words,
      componentId,
      props: this.#props,
      context: this.#context,
      surroundings: this.#surroundings,
      emit: (event, detail) => {
        if (event === 'annex-render') this.#keepHeight(transport);
        return this.#emit(event, detail);
      },
    });
    this.#stage = stage;
    render(h(StageView, { stage }), shadowRoot);
    stage.root.start();
  }

  #finish(): void {
    this.#stage?.end();
    this.#stage = undefined;
    if (this.shadowRoot !== null) render(null, this.shadowRoot);
  }

  /** Keeps the height of the drawing, for the next time that it is waited for. */
  #keepHeight(transport: Transport): void {
    const drawn = this.shadowRoot?.querySelector<HTMLElement>('.component');
    if (drawn) cacheOf(transport).heights.set(this.componentId, drawn.offsetHeight);
  }

  #emit(event: string, detail: JsonObject): boolean {
    return this.dispatchEvent(
      new CustomEvent(event, { detail, bubbles: true, composed: true, cancelable: true }),
    );
  }
}

/** Makes the tag known to the page, once. */
export function defineAnnexComponent(tag = 'annex-component'): void {
  if (globalThis.customElements !== undefined && customElements.get(tag) === undefined)
    customElements.define(tag, AnnexComponent);
}

/**
 * `@annex/components/insert-menu`: the tag `<annex-insert-menu>`, the quick insert menu of a page of
 * the host product, opened with Ctrl or ⌘ and `/`.
 *
 * Set `read`, which gives the blocks of the place (`GET /v1/blocks`), and `transport`, which draws
 * one. What is chosen is handed to the page, as a component that it puts where it belongs.
 */
import { h, render } from 'preact';
import { styleSheet, WIDGET_STYLES } from '../../ui/src/stylesheet.ts';
import type { AnnexComponent } from './index.ts';
import { MenuView } from './insert/menu-view.tsx';
import { INSERT_WORDS, type InsertWords } from './insert/words.ts';
import { defineTag } from './target-element.ts';
import type { Transport } from './transport.ts';

export { INSERT_WORDS, type InsertWords } from './insert/words.ts';

/** A block, as the API lists it. */
export interface InsertBlock {
  readonly integration: string;
  readonly installation: string;
  readonly space?: string;
  readonly componentId: string;
  readonly title: string;
  readonly description?: string;
}

const STYLES = `${WIDGET_STYLES}
.menu { inset-block-start: 12vh; margin-block-start: 0; padding: 8px; gap: 8px; inline-size: min(480px, calc(100vw - 32px)); }
.blocks { max-block-size: 50vh; overflow-y: auto; }
.option { align-items: flex-start; min-block-size: 36px; }
.option > .icon { margin-block-start: 3px; color: var(--quiet-text); }
.option > .icon:last-child { margin-inline-start: 0; }
.option .hint { display: block; }
`;

/** On a server there are no elements; the module can be imported all the same. */
const Base = (globalThis.HTMLElement ?? class {}) as typeof HTMLElement;

export class AnnexInsertMenu extends Base {
  /** Gives the blocks that can be inserted here. */
  read: (() => Promise<readonly InsertBlock[]>) | undefined;
  /** How the component of a block is drawn. */
  transport: ((block: InsertBlock) => Transport) | undefined;
  #words: InsertWords = INSERT_WORDS;
  readonly #onKeyDown = (event: KeyboardEvent): void => {
    // On some keyboards the slash needs Shift; with Alt it is another character.
    if (event.key !== '/' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
    event.preventDefault();
    this.open();
  };

  /** The words that it shows itself. */
  set words(words: Partial<InsertWords>) {
    this.#words = { ...INSERT_WORDS, ...words };
  }

  connectedCallback(): void {
    if (this.shadowRoot === null) {
      this.attachShadow({ mode: 'open' }).adoptedStyleSheets = [styleSheet(STYLES)];
    }
    this.ownerDocument.addEventListener('keydown', this.#onKeyDown);
  }

  disconnectedCallback(): void {
    this.ownerDocument.removeEventListener('keydown', this.#onKeyDown);
    this.close();
  }

  /** Opens the menu; the focus goes back to where it was when it closes. */
  open(): void {
    const { read, shadowRoot } = this;
    if (read === undefined || shadowRoot === null || shadowRoot.querySelector('dialog') !== null) return;
    const view = h(MenuView, {
      ...{ read, words: this.#words },
      insert: (block) => void this.#insert(block),
      close: () => this.close(),
    });
    render(view, shadowRoot);
  }

  close(): void {
    if (this.shadowRoot !== null) render(null, this.shadowRoot);
  }

  async #insert(block: InsertBlock): Promise<void> {
    this.close();
    await import('./index.ts');
    const component = document.createElement('annex-component') as AnnexComponent;
    component.componentId = block.componentId;
    if (this.transport !== undefined) component.transport = this.transport(block);
    const detail = { block, component };
    this.dispatchEvent(new CustomEvent('annex-insert', { detail, bubbles: true, composed: true }));
  }
}

defineTag('annex-insert-menu', AnnexInsertMenu);

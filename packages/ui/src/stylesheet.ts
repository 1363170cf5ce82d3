/**
 * The style sheet of the widgets, for a shadow root: tokens on the host, then each widget once.
 * Directions are logical, so that right-to-left needs no rule. The host is transparent and takes the
 * colour scheme of its page. With the attribute `theme`, which may name another scheme than the page has,
 * it has a ground of its own.
 *
 * Attack: text that leaves its frame, by length, by marks that pile up, or by a fixed position. The
 * host element clips what it holds, words break anywhere, and a tenant chooses no style.
 */
import { TOKENS } from './tokens.ts';

export const WIDGET_STYLES = `
:host {
  ${TOKENS}
  display: block;
  contain: paint;
  max-inline-size: 100%;
  color: var(--text);
  font: 400 var(--text-l)/1.5 var(--font);
  overflow-wrap: anywhere;
}
:host([hidden]) { display: none; }
:host([theme="light"]) { color-scheme: light; background: var(--canvas); }
:host([theme="dark"]) { color-scheme: dark; background: var(--canvas); }
*, *::before, *::after { box-sizing: border-box; }
p, h2, h3, h4, h5, h6, ul, ol, dl, dd, pre { margin: 0; }
a { color: var(--accent); }
code, pre { font-family: var(--mono); font-size: var(--text-m); }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.icon { inline-size: 16px; block-size: 16px; flex: none; }
.icon path { fill: none; stroke: currentColor; stroke-width: 1.5; stroke-linecap: round; stroke-linejoin: round; }
.quiet-words, .hint, .remark, .loading, .combo-note { color: var(--quiet-text); font-size: var(--text-m); }
.markdown :is(h1, h2, h3, h4) { font-size: var(--head-s); line-height: 1.25; }
.markdown :is(h5, h6) { font-size: var(--text-l); line-height: 1.25; }
summary { display: flex; align-items: baseline; cursor: pointer; list-style: none; }
summary::-webkit-details-marker { display: none; }
summary::before {
  content: ""; display: inline-block; inline-size: 6px; block-size: 6px; margin-inline: 2px 8px; flex: none;
  border: solid currentColor; border-width: 0 1.5px 1.5px 0; transform: translateY(-2px) rotate(-45deg);
}
[open] > summary::before { transform: translateY(-3px) rotate(45deg); }
.hidden-words { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.button {
  display: inline-flex; align-items: center; justify-content: center; gap: 6px;
  min-block-size: 32px; max-inline-size: 100%; align-self: flex-start;
  padding: 4px 12px; font: inherit; font-weight: 600; text-align: start; text-decoration: none;
  border: 1px solid var(--field-line); border-radius: var(--radius);
  background: var(--surface); color: var(--text); cursor: pointer; overflow-wrap: anywhere;
  transition: background-color var(--motion), border-color var(--motion);
}
.button:hover { background: var(--raised); }
.button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.button.danger { background: var(--danger); border-color: var(--danger); color: var(--on-danger); }
.button.primary:hover, .button.danger:hover { filter: brightness(1.08); }
.button.quiet { font-weight: 400; border-color: transparent; background: transparent; padding-inline: 8px; color: inherit; }
.button.quiet:hover { background: var(--raised); }
.button:disabled, input:disabled, select:disabled, textarea:disabled { opacity: 0.55; cursor: not-allowed; }
.button[aria-busy="true"]::after {
  content: ""; inline-size: 12px; block-size: 12px; flex: none; border-radius: 50%;
  border: 2px solid currentColor; border-inline-end-color: transparent; animation: turn 0.8s linear infinite;
}
.button.steady[aria-busy="true"] { position: relative; }
.button.steady[aria-busy="true"] > * { visibility: hidden; }
.button.steady[aria-busy="true"]::after { position: absolute; inset: 0; margin: auto; }
@keyframes turn { to { transform: rotate(1turn); } }
.buttons { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.buttons:empty { display: none; }
.buttons.end { justify-content: flex-end; }
.field { display: grid; gap: 4px; min-inline-size: 0; }
.field.beside { grid-template-columns: auto 1fr; align-items: center; column-gap: 8px; }
.field.beside > .control { grid-row: 1; grid-column: 1; display: flex; }
.field.beside > .label { grid-row: 1; grid-column: 2; font-weight: 400; }
.field.beside > :is(.remark, .error) { grid-column: 2; }
.control { min-inline-size: 0; }
.label { font-weight: 600; }
.optional { font-weight: 400; color: var(--quiet-text); font-size: var(--text-m); }
.error { display: flex; gap: 6px; align-items: flex-start; color: var(--danger); font-size: var(--text-m); }
.error .icon { margin-block-start: 2px; }
.error.missing { color: var(--warn); }
.textinput, .select {
  inline-size: 100%; min-block-size: 32px; padding: 5px 10px; font: inherit; color: inherit;
  background: var(--surface); border: 1px solid var(--field-line); border-radius: var(--radius);
  transition: border-color var(--motion);
}
:is(.textinput, .select):is([aria-invalid="true"]) { border-color: var(--danger); box-shadow: inset 0 0 0 1px var(--danger); }
textarea.textinput { resize: vertical; }
::placeholder { color: var(--quiet-text); opacity: 1; }
.picked { position: relative; display: block; }
.picked > .icon { position: absolute; inset-block-start: 8px; inset-inline-end: 10px; pointer-events: none; color: var(--quiet-text); }
.picked > .clear { position: absolute; inset-block-start: 3px; inset-inline-end: 30px; min-block-size: 26px; padding: 2px 6px; }
.picked > .select.unset { color: var(--quiet-text); }
.picked > .select { appearance: none; padding-inline-end: 32px; text-overflow: ellipsis; }
input[type="radio"], input[type="checkbox"] { inline-size: 18px; block-size: 18px; margin: 0; accent-color: var(--accent); }
input.switch { appearance: none; inline-size: 34px; block-size: 20px; border-radius: 10px; background: var(--field-line); position: relative; cursor: pointer; flex: none; transition: background-color var(--motion); }
.switch::before { content: ""; position: absolute; inset-block-start: 2px; inset-inline-start: 2px; inline-size: 16px; block-size: 16px; border-radius: 50%; background: var(--surface); transition: inset-inline-start var(--motion); }
.switch:checked { background: var(--accent); }
.switch:checked::before { inset-inline-start: 16px; }
.combo { display: grid; gap: 4px; }
.combo-list { border: 1px solid var(--line); border-radius: var(--radius); padding: 4px; background: var(--floating); }
.combo-list [role="listbox"] { max-block-size: 240px; overflow-y: auto; }
.option { display: flex; gap: 8px; align-items: center; padding: 5px 8px; border-radius: 4px; cursor: pointer; }
.option:hover, .option.active { background: var(--raised); }
.option.active { outline: 2px solid var(--accent); outline-offset: -2px; }
.option[aria-selected="true"] { font-weight: 600; }
.option > .icon:last-child { margin-inline-start: auto; color: var(--accent); }
.combo-list > .button { inline-size: 100%; justify-content: flex-start; margin-block-start: var(--space-4); }
.combo-note:empty { display: none; }
.combo-note { padding: 4px 8px; }
.chosen { display: flex; flex-wrap: wrap; gap: 4px; padding: 0; list-style: none; }
.chosen li { display: flex; align-items: center; background: var(--raised); border-radius: var(--radius); padding-inline-start: 8px; max-inline-size: 100%; }
.chosen .button { min-block-size: 24px; padding: 2px 6px; }
.callout { display: flex; gap: 8px; align-items: flex-start; padding: 8px 12px; border-radius: var(--radius); background: var(--info-tint); }
.callout > .icon { margin-block-start: 3px; color: var(--info); }
.callout > div { flex: 1; min-inline-size: 0; display: grid; gap: 8px; }
.callout > div > .button { justify-self: start; }
.callout.good { background: var(--good-tint); }
.callout.good > .icon { color: var(--good); }
.callout.warn { background: var(--warn-tint); }
.callout.warn > .icon { color: var(--warn); }
.callout.bad { background: var(--danger-tint); }
.callout.bad > .icon { color: var(--danger); }
time { white-space: nowrap; color: var(--quiet-text); }
.state { display: inline-flex; align-items: center; gap: 6px; white-space: nowrap; }
.state > i { inline-size: 8px; block-size: 8px; border-radius: 50%; background: var(--info); flex: none; }
.state.good > i { background: var(--good); }
.state.warn > i { background: var(--warn); }
.state.bad { color: var(--danger); }
.state.bad > i { background: var(--danger); }
.emblem { inline-size: 40px; block-size: 40px; flex: none; display: grid; place-items: center; overflow: hidden; border-radius: var(--radius); background: var(--raised); color: var(--quiet-text); font-weight: 600; object-fit: contain; }
.emblem::before { content: attr(data-initials); }
.payload { max-block-size: 480px; overflow: auto; padding: var(--space-12); background: var(--raised); border-radius: var(--radius); white-space: pre-wrap; }
.tablist { display: flex; gap: var(--space-4); border-block-end: 1px solid var(--line); }
.tablist > .button { border-radius: var(--radius) var(--radius) 0 0; color: var(--quiet-text); }
.tablist > .button[aria-selected="true"] { color: var(--text); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
.tabpanel { display: grid; gap: var(--space-8); padding-block-start: var(--space-8); }
.skeleton { display: grid; gap: 8px; animation: appear 120ms 150ms both; }
.skeleton + .skeleton { margin-block-start: var(--space-16); }
.skeleton > i { display: block; block-size: 12px; inline-size: 30%; border-radius: 4px; background: var(--raised); }
.skeleton > i + i { block-size: 32px; inline-size: 100%; border-radius: var(--radius); }
.as-lines > .skeleton, .as-tiles > .skeleton { margin: 0; }
:is(.as-lines, .as-tiles) > .skeleton > i:first-child { display: none; }
.as-lines > .skeleton + .skeleton { margin-block-start: 1px; }
.as-lines > .skeleton > i { block-size: 40px; }
.as-tiles { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(300px, 100%), 1fr)); gap: var(--space-12); }
.as-tiles > .skeleton > i { block-size: 96px; border-radius: var(--radius-surface); }
@keyframes appear { from { opacity: 0; } }
.window {
  inline-size: min(560px, calc(100vw - 32px)); max-block-size: calc(100vh - 32px); overflow: auto;
  padding: 16px; border: 1px solid var(--line); border-radius: var(--radius-surface); box-shadow: var(--shadow);
  background: var(--floating); color: var(--text); font: 400 var(--text-l)/1.5 var(--font);
}
.window.xlarge { inline-size: min(960px, calc(100vw - 32px)); }
.window.fullscreen { inline-size: calc(100vw - 32px); block-size: calc(100vh - 32px); }
.window.question { inline-size: min(420px, calc(100vw - 32px)); }
.window::backdrop { background: var(--shade); }
.window[open] { display: flex; flex-direction: column; gap: var(--gap); }
.window-title { font-size: var(--head-s); line-height: 1.25; font-weight: 600; }
@media (pointer: coarse) {
  .button, .textinput, .select { min-block-size: 40px; }
  .picked > .icon { inset-block-start: 12px; }
}
@media (prefers-reduced-motion: reduce) {
  *, *::before, *::after { animation-duration: 0s !important; transition-duration: 0s !important; }
  .button[aria-busy="true"]::after { animation: none; }
}
`;

/** A style sheet of a text, for a shadow root. */
export function styleSheet(text: string): CSSStyleSheet {
  const sheet = new CSSStyleSheet();
  sheet.replaceSync(text);
  return sheet;
}

/**
 * The style sheet of `<annex-component>`. A page changes it by custom properties, `--annex-…`; the
 * first rule lists them with their defaults. Directions are logical, so that right-to-left needs no
 * rule.
 *
 * Attack: text that leaves its frame, by length, by marks that pile up, or by a fixed position. The
 * host element clips what it holds, words break anywhere, and a tenant chooses no style.
 */
export const STYLESHEET = `
:host {
  --accent: var(--annex-accent, light-dark(#2456c8, #9ab8ff));
  --on-accent: var(--annex-on-accent, light-dark(#ffffff, #0b1530));
  --danger: var(--annex-danger, light-dark(#b3261e, #ffb4ab));
  --on-danger: var(--annex-on-danger, light-dark(#ffffff, #410002));
  --text: var(--annex-text, light-dark(#1c1f26, #e6e8ee));
  --quiet: var(--annex-quiet-text, light-dark(#565d6b, #a9b0bf));
  --surface: var(--annex-surface, light-dark(#ffffff, #16181d));
  --raised: var(--annex-raised, light-dark(#f5f6f9, #20232b));
  --line: var(--annex-line, light-dark(#d5d9e2, #3a3f4b));
  --field-line: var(--annex-field-line, light-dark(#7c8494, #868e9e));
  --radius: var(--annex-radius, 6px);
  --gap: var(--annex-gap, 12px);
  --font: var(--annex-font, system-ui, sans-serif);
  --mono: var(--annex-font-mono, ui-monospace, monospace);
  display: block;
  contain: paint;
  max-inline-size: 100%;
  color-scheme: light dark;
  color: var(--text);
  background: var(--surface);
  font: 400 14px/1.5 var(--font);
  overflow-wrap: anywhere;
}
:host([hidden]) { display: none; }
:host([theme="light"]) { color-scheme: light; }
:host([theme="dark"]) { color-scheme: dark; }
*, *::before, *::after { box-sizing: border-box; }
p, h2, h3, h4, h5, h6, ul, ol, pre { margin: 0; }
.component { padding: 4px; min-inline-size: 0; }
.component[aria-busy="true"] { cursor: progress; }
.block, .vstack { display: flex; flex-direction: column; gap: var(--gap); min-inline-size: 0; }
.hstack { display: flex; flex-wrap: wrap; gap: var(--gap); align-items: center; min-inline-size: 0; }
.vstack > *, .block > *, .hstack > *, .box { min-inline-size: 0; max-inline-size: 100%; }
.vstack.align-start, .hstack.align-start { align-items: flex-start; }
.vstack.align-center, .hstack.align-center { align-items: center; }
.vstack.align-end, .hstack.align-end { align-items: flex-end; }
.box { display: flex; flex-direction: column; gap: var(--gap); }
.divider { inline-size: 100%; border: 0; border-block-start: 1px solid var(--line); margin-block: 4px; }
.divider.size-small { margin-block: 0; }
.divider.size-large { margin-block: 12px; }
.text, .markdown p { white-space: pre-line; }
.hint, .remark, .loading, .cut, .combo-note { color: var(--quiet); font-size: 13px; }
.cut { font-style: italic; }
code, pre, .codeblock textarea { font-family: var(--mono); font-size: 13px; }
code { background: var(--raised); border-radius: 3px; padding: 0 3px; }
a { color: var(--accent); }
.markdown { display: flex; flex-direction: column; gap: 8px; min-inline-size: 0; }
.markdown ul, .markdown ol { padding-inline-start: 24px; }
.markdown blockquote { margin: 0; padding-inline-start: 12px; border-inline-start: 3px solid var(--line); }
.markdown table { border-collapse: collapse; display: block; overflow-x: auto; }
.markdown th, .markdown td { border: 1px solid var(--line); padding: 4px 8px; text-align: start; }
.image { display: block; max-inline-size: 100%; inline-size: 100%; object-fit: contain; border-radius: var(--radius); }
.image.inline { display: inline-block; block-size: 1.25em; inline-size: auto; vertical-align: -0.25em; border-radius: 0; }
.icon { inline-size: 16px; block-size: 16px; flex: none; }
.icon path { fill: none; stroke: currentColor; stroke-width: 1.4; stroke-linecap: round; stroke-linejoin: round; }
.button {
  display: inline-flex; align-items: center; justify-content: center; gap: 6px;
  min-block-size: 32px; max-inline-size: 100%; align-self: flex-start;
  padding: 4px 12px; font: inherit; font-weight: 500; text-align: start;
  border: 1px solid var(--field-line); border-radius: var(--radius);
  background: var(--surface); color: var(--text); cursor: pointer; overflow-wrap: anywhere;
}
.button:hover { background: var(--raised); }
.button.primary { background: var(--accent); border-color: var(--accent); color: var(--on-accent); }
.button.danger { background: var(--danger); border-color: var(--danger); color: var(--on-danger); }
.button.primary:hover, .button.danger:hover { filter: brightness(1.08); }
.button.quiet { border-color: transparent; background: transparent; padding-inline: 8px; color: inherit; }
.button.quiet:hover { background: var(--raised); }
.button:disabled, input:disabled, select:disabled, textarea:disabled { opacity: 0.55; cursor: not-allowed; }
.button[aria-busy="true"]::after {
  content: ""; inline-size: 12px; block-size: 12px; flex: none; border-radius: 50%;
  border: 2px solid currentColor; border-inline-end-color: transparent; animation: turn 0.8s linear infinite;
}
@keyframes turn { to { transform: rotate(1turn); } }
@media (prefers-reduced-motion: reduce) { .button[aria-busy="true"]::after { animation: none; } }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
.buttons { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; }
.buttons:empty { display: none; }
.buttons.end { justify-content: flex-end; }
.controls { display: flex; flex-wrap: wrap; gap: 2px; justify-content: flex-end; color: var(--quiet); }
.card {
  position: relative; display: flex; flex-direction: column; gap: var(--gap);
  padding: 12px; border: 1px solid var(--line); border-radius: var(--radius); background: var(--surface);
}
.card.pressable:hover { background: var(--raised); }
.card-head { display: flex; gap: 10px; align-items: flex-start; min-inline-size: 0; }
.card-icon { inline-size: 32px; flex: none; padding-block-start: 3px; }
.card-icon:empty { display: none; }
.card-words { flex: 1; min-inline-size: 0; }
.card-title { font: inherit; font-weight: 600; color: inherit; text-align: start; }
.card-title.cover { background: none; border: 0; padding: 0; cursor: pointer; }
.card-title.cover::after { content: ""; position: absolute; inset: 0; border-radius: var(--radius); }
.card-title.unnamed { font-size: 0; }
.card .button, .card a, .card input, .card select, .card textarea { position: relative; z-index: 1; }
.card .card-title.cover { position: static; }
.field { display: grid; gap: 4px; min-inline-size: 0; }
.field.beside { grid-template-columns: auto 1fr; align-items: center; column-gap: 8px; }
.field.beside > .control { grid-row: 1; grid-column: 1; display: flex; }
.field.beside > .label { grid-row: 1; grid-column: 2; font-weight: 400; }
.field.beside > .remark { grid-column: 2; }
.control { min-inline-size: 0; }
.label { font-weight: 500; }
.textinput, .select, .codeblock textarea {
  inline-size: 100%; min-block-size: 32px; padding: 5px 10px; font: inherit; color: inherit;
  background: var(--surface); border: 1px solid var(--field-line); border-radius: var(--radius);
}
textarea.textinput { resize: vertical; }
::placeholder { color: var(--quiet); opacity: 1; }
input[type="radio"], input[type="checkbox"] { inline-size: 18px; block-size: 18px; margin: 0; accent-color: var(--accent); }
.switch { appearance: none; inline-size: 34px !important; block-size: 20px; border-radius: 10px; background: var(--field-line); position: relative; cursor: pointer; flex: none; }
.switch::before { content: ""; position: absolute; inset-block-start: 2px; inset-inline-start: 2px; inline-size: 16px; block-size: 16px; border-radius: 50%; background: var(--surface); }
.switch:checked { background: var(--accent); }
.switch:checked::before { inset-inline-start: 16px; }
.combo { display: grid; gap: 4px; }
.combo-list { border: 1px solid var(--line); border-radius: var(--radius); padding: 4px; }
.combo-list [role="listbox"] { max-block-size: 240px; overflow-y: auto; }
.option { display: flex; gap: 8px; align-items: center; padding: 4px 8px; border-radius: 4px; cursor: pointer; }
.option:hover, .option.active { background: var(--raised); }
.option.active { outline: 2px solid var(--accent); outline-offset: -2px; }
.option[aria-selected="true"] { font-weight: 600; }
.combo-note:empty { display: none; }
.combo-note { padding: 4px 8px; }
.chosen { display: flex; flex-wrap: wrap; gap: 4px; padding: 0; list-style: none; }
.chosen li { display: flex; align-items: center; background: var(--raised); border-radius: var(--radius); padding-inline-start: 8px; max-inline-size: 100%; }
.chosen .button { min-block-size: 24px; padding: 2px 6px; }
.codeblock { border: 1px solid var(--line); border-radius: var(--radius); overflow: hidden; min-inline-size: 0; }
.code-bar { display: flex; align-items: center; justify-content: space-between; gap: 8px; padding: 4px 8px; }
.syntax { color: var(--quiet); font-size: 12px; }
.code-part { padding: 8px; }
.code-lines { display: flex; align-items: flex-start; max-block-size: 480px; overflow: auto; background: var(--raised); }
.code-lines .code { flex: 1; min-inline-size: 0; }
pre.code { padding: 8px; overflow-x: auto; white-space: pre; background: var(--raised); }
.numbers { padding: 8px; color: var(--quiet); text-align: end; user-select: none; }
.codeblock textarea { border: 0; border-radius: 0; padding: 8px; line-height: inherit; background: var(--raised); resize: vertical; }
.webframe { display: grid; gap: 8px; }
.webframe iframe { inline-size: 100%; border: 1px solid var(--line); border-radius: var(--radius); background: #ffffff; color-scheme: light; }
.stopped {
  display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 8px; padding: 8px;
  overflow: auto; border: 1px solid var(--line); border-radius: var(--radius); color: var(--quiet); font-size: 13px;
}
.stopped .button { align-self: center; flex: none; }
.steps { display: flex; flex-wrap: wrap; gap: 4px; padding: 0; list-style: none; }
.stepper { display: flex; flex-direction: column; gap: var(--gap); }
.step-number { display: inline-grid; place-items: center; inline-size: 22px; block-size: 22px; border-radius: 50%; background: var(--raised); font-size: 12px; flex: none; }
[aria-current="step"] { font-weight: 700; }
[aria-current="step"] .step-number { background: var(--accent); color: var(--on-accent); }
.modal { display: flex; flex-direction: column; gap: var(--gap); }
.modal-head { display: flex; justify-content: space-between; gap: 8px; align-items: flex-start; }
.modal-title { font-size: 17px; line-height: 1.3; font-weight: 600; }
.window {
  inline-size: min(560px, calc(100vw - 32px)); max-block-size: calc(100vh - 32px); overflow: auto;
  padding: 16px; border: 1px solid var(--line); border-radius: calc(var(--radius) * 1.5);
  background: var(--surface); color: var(--text); font: 400 14px/1.5 var(--font);
}
.window.xlarge { inline-size: min(960px, calc(100vw - 32px)); }
.window.fullscreen { inline-size: calc(100vw - 32px); block-size: calc(100vh - 32px); }
.window.question { inline-size: min(420px, calc(100vw - 32px)); }
.window::backdrop { background: rgb(0 0 0 / 45%); }
.window[open] { display: flex; flex-direction: column; gap: var(--gap); }
.failure {
  display: flex; flex-wrap: wrap; align-items: center; gap: 4px 8px; padding: 6px 10px;
  border: 1px solid var(--danger); border-radius: var(--radius); color: var(--danger);
}
.failure > span { flex: 1; min-inline-size: 12ch; }
`;

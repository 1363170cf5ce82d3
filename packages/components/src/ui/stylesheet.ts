/**
 * The style sheet of `<annex-component>`: what a drawing has beside the widgets. Its colours are the
 * roles of `packages/ui`, which a page changes by custom properties, `--annex-…`.
 */
import { WIDGET_STYLES } from '../../../ui/src/stylesheet.ts';

export const STYLESHEET = `${WIDGET_STYLES}
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
.cut { color: var(--quiet-text); font-size: var(--text-m); font-style: italic; }
.codeblock textarea { font-family: var(--mono); font-size: var(--text-m); }
code { background: var(--raised); border-radius: 3px; padding: 0 3px; }
.markdown { display: flex; flex-direction: column; gap: 8px; min-inline-size: 0; }
.markdown ul, .markdown ol { padding-inline-start: 24px; }
.markdown blockquote { margin: 0; padding-inline-start: 12px; border-inline-start: 3px solid var(--line); }
.markdown table { border-collapse: collapse; display: block; overflow-x: auto; }
.markdown th, .markdown td { border: 1px solid var(--line); padding: 4px 8px; text-align: start; }
.image { display: block; max-inline-size: 100%; inline-size: 100%; object-fit: contain; border-radius: var(--radius); }
.image.inline { display: inline-block; block-size: 1.25em; inline-size: auto; vertical-align: -0.25em; border-radius: 0; }
.controls { display: flex; flex-wrap: wrap; gap: 2px; justify-content: flex-end; color: var(--quiet-text); }
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
.codeblock { border: 1px solid var(--line); border-radius: var(--radius); overflow: hidden; min-inline-size: 0; }
.code-bar { display: flex; align-items: center; justify-content: space-between; gap: 8px; padding: 4px 8px; }
.syntax { color: var(--quiet-text); font-size: var(--text-s); }
.code-part { padding: 8px; }
.code-lines { display: flex; align-items: flex-start; max-block-size: 480px; overflow: auto; background: var(--raised); }
.code-lines .code { flex: 1; min-inline-size: 0; }
pre.code { padding: 8px; overflow-x: auto; white-space: pre; background: var(--raised); }
.numbers { padding: 8px; color: var(--quiet-text); text-align: end; user-select: none; }
.codeblock textarea { inline-size: 100%; color: inherit; border: 0; border-radius: 0; padding: 8px; line-height: inherit; background: var(--raised); resize: vertical; }
.webframe { display: grid; gap: 8px; }
.webframe iframe { inline-size: 100%; border: 1px solid var(--line); border-radius: var(--radius); background: Canvas; color-scheme: light; }
.stopped {
  display: flex; flex-direction: column; align-items: center; justify-content: center; gap: 8px; padding: 8px;
  overflow: auto; border: 1px solid var(--line); border-radius: var(--radius); color: var(--quiet-text); font-size: var(--text-m);
}
.stopped .button { align-self: center; flex: none; }
.steps { display: flex; flex-wrap: wrap; gap: 4px; padding: 0; list-style: none; }
.stepper { display: flex; flex-direction: column; gap: var(--gap); }
.step-number { display: inline-grid; place-items: center; inline-size: 22px; block-size: 22px; border-radius: 50%; background: var(--raised); font-size: var(--text-s); flex: none; }
[aria-current="step"] { font-weight: 700; }
[aria-current="step"] .step-number { background: var(--accent); color: var(--on-accent); }
.modal { display: flex; flex-direction: column; gap: var(--gap); }
.modal-head { display: flex; justify-content: space-between; gap: 8px; align-items: flex-start; }
.failure {
  display: flex; flex-wrap: wrap; align-items: center; gap: 4px 8px; flex: 1 1 100%; padding: 6px 12px;
  border-radius: var(--radius); background: var(--danger-tint); color: var(--danger);
}
.awaited { overflow: hidden; }
.failure > span:first-child { flex: 1; min-inline-size: 24ch; }
.failure > .buttons { gap: 0; margin-inline: -8px; }
`;

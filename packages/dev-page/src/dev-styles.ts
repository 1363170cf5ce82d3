/**
 * The style of the page of `annex dev` around the widgets: the ways at the side, the view that was
 * chosen, and beside it what happens.
 */
export const DEV_STYLES = `
:host { margin: 0; min-block-size: 100vh; background: var(--canvas); color-scheme: light dark; contain: none; }
ul, ol { padding: 0; list-style: none; }
h1 { margin: 0; font-size: var(--head-s); line-height: 1.25; }
h2 { font-size: var(--head-m); line-height: 1.25; }
h3 { margin: 0; font: 600 var(--text-m) var(--mono); }
.frame { display: grid; grid-template: auto 1fr / 220px minmax(0, 1fr) minmax(320px, min(32vw, 460px)); min-block-size: 100vh; }
.top { grid-column: 1 / -1; display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-4) var(--space-16); padding: var(--space-12) var(--space-24); border-block-end: 1px solid var(--line); background: var(--surface); }
.top p { color: var(--quiet-text); font-size: var(--text-m); }
.top > .state { margin-inline-start: auto; font-size: var(--text-m); }
.ways { padding: var(--space-16) var(--space-12); border-inline-end: 1px solid var(--line); background: var(--surface); }
.ways a { display: flex; align-items: center; gap: var(--space-8); padding: 6px var(--space-8); border-radius: var(--radius); color: var(--quiet-text); text-decoration: none; }
.ways ul ul a { padding-inline-start: 32px; padding-block: 4px; font: var(--text-s) var(--mono); }
.ways a:hover { background: var(--raised); color: var(--text); }
.ways a[aria-current] { background: var(--accent-tint); color: var(--accent); font-weight: 600; }
main, .activity { padding: var(--space-24); min-inline-size: 0; }
main section { display: grid; gap: var(--space-16); max-inline-size: 800px; }
main section + section { margin-block-start: var(--space-32); }
.activity { position: sticky; inset-block-start: 0; max-block-size: 100vh; overflow-y: auto; border-inline-start: 1px solid var(--line); background: var(--surface); font-size: var(--text-m); }
.activity h2 { font-size: var(--text-l); margin-block-end: var(--space-8); }
.newer { position: sticky; inset-block-start: 0; z-index: 1; inline-size: 100%; margin-block-end: var(--space-8); color: var(--accent); }
.activity li { display: grid; gap: var(--space-4); padding-block: var(--space-8); border-block-start: 1px solid var(--line); }
.activity ul { display: grid; gap: var(--space-4); }
.activity li li { padding: 0; border: none; }
.title { display: flex; justify-content: space-between; align-items: baseline; gap: var(--space-8); }
.title .state { white-space: normal; flex: 1; min-inline-size: 0; align-items: baseline; }
summary.title { align-items: center; }
summary.title::before { display: none; }
summary.title > .icon { transform: rotate(-90deg); align-self: center; }
[open] > summary.title > .icon { transform: none; }
summary.title .state:not(.bad) { color: var(--text); }
.title small, .fact { color: var(--quiet-text); font-size: var(--text-s); white-space: nowrap; font-variant-numeric: tabular-nums; }
.lines { display: grid; grid-template-columns: 5ch minmax(0, 1fr) auto; gap: 0 var(--space-8); font: var(--text-s)/1.5 var(--mono); white-space: pre-wrap; }
.lines > span:first-child { color: var(--quiet-text); }
.lines:is(.error, .warn) > span:first-child { color: inherit; }
.lines.error { color: var(--danger); font-size: var(--text-s); }
.lines.warn { color: var(--warn); }
.lines > small { margin-inline-end: var(--space-24); color: var(--quiet-text); white-space: nowrap; font-size: inherit; font-variant-numeric: tabular-nums; }
.activity .payload { max-block-size: 240px; }
.drawing, section > annex-configuration { margin-inline: -4px; }
.facts { display: grid; grid-template-columns: auto minmax(0, 1fr); gap: 0 var(--space-8); color: var(--quiet-text); font-size: var(--text-s); }
.facts code { font-size: var(--text-s); }
summary { color: var(--quiet-text); font-size: var(--text-m); }
summary:hover { color: var(--text); }
details > * + * { margin-block-start: var(--space-8); }
.card { display: grid; gap: var(--space-12); padding: var(--space-16); border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); }
:is(.card, section) > .button { justify-self: start; }
.card > h3 + .fact { margin-block-start: calc(-1 * var(--space-8)); }
main > .callout { max-inline-size: 800px; margin-block-end: var(--space-16); }
.row { display: flex; flex-wrap: wrap; align-items: end; gap: var(--space-12); }
p.row { align-items: center; }
.row > .field { flex: 1 1 200px; }
.row > .button { align-self: end; }
.row > .field.short { flex: 0 0 120px; }
.rows { display: grid; grid-template-columns: minmax(0, 1fr); border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); }
.rows > li { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-4) var(--space-12); padding: var(--space-8) var(--space-12); }
.rows:empty { display: none; }
.rows .fact { white-space: normal; min-inline-size: 0; }
.rows > li + li { border-block-start: 1px solid var(--line); }
.rows > li > .button:not(:first-child) { margin-inline-start: auto; }
.menu { display: flex; flex-wrap: wrap; gap: var(--space-8); }
.menu .button { font: var(--text-m) var(--mono); }
.menu [aria-pressed="true"] { border-color: var(--accent); color: var(--accent); background: var(--accent-tint); }
textarea.textinput { font: var(--text-m)/1.5 var(--mono); }
table { inline-size: 100%; border-collapse: collapse; font-size: var(--text-m); }
caption { text-align: start; color: var(--quiet-text); padding-block-end: var(--space-8); }
td { block-size: 36px; padding: 4px var(--space-12) 4px 0; border-block-start: 1px solid var(--line); overflow-wrap: anywhere; }
th { padding: 4px var(--space-12) 4px 0; color: var(--quiet-text); font-weight: 400; text-align: start; }
td:nth-child(3), th:nth-child(3) { text-align: end; font-variant-numeric: tabular-nums; }
td:last-child { text-align: end; padding: 0; }
td .button { min-block-size: 24px; padding: 2px 8px; }
@media (max-width: 1100px) {
  .frame { grid-template: auto 1fr auto / 180px minmax(0, 1fr); }
  .activity { grid-column: 1 / -1; position: static; max-block-size: none; border-inline-start: 0; border-block-start: 1px solid var(--line); }
}
@media (max-width: 720px) {
  .frame { display: block; }
  .top { padding: var(--space-12) var(--space-16); }
  .top > p { order: 1; inline-size: 100%; }
  .ways { padding: var(--space-4) var(--space-8); border-inline-end: 0; border-block-end: 1px solid var(--line); overflow-x: auto; }
  .ways ul { display: flex; }
  .ways ul ul { display: none; }
  .ways a { white-space: nowrap; }
  main, .activity { padding: var(--space-16); }
}
`;

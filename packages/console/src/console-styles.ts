/** The style of the console around the widgets: a side bar and one column, a table of 36 px a row. */
export const CONSOLE_STYLES = `
:host { margin: 0; min-block-size: 100vh; background: var(--canvas); color-scheme: light dark; font-size: var(--text-l); contain: none; }
main:focus { outline: none; }
ul, ol { padding: 0; list-style: none; }
h1 { margin: 0; font-size: var(--head-m); line-height: 1.25; }
h2 { font-size: var(--head-s); line-height: 1.25; margin-block: var(--space-24) var(--space-8); }
pre { margin: 0; }
.frame { display: grid; grid-template-columns: 220px minmax(0, 1fr); min-block-size: 100vh; }
.side {
  position: sticky; inset-block-start: 0; block-size: 100vh; display: flex; flex-direction: column; gap: var(--space-12);
  padding: var(--space-16) var(--space-12); border-inline-end: 1px solid var(--line); background: var(--surface); overflow-y: auto;
}
.brand { padding-inline: var(--space-8); font-size: var(--head-s); font-weight: 600; }
.bar { display: none; }
.side a { display: flex; align-items: center; gap: var(--space-8); padding: 6px var(--space-8); border-radius: var(--radius); color: var(--quiet-text); text-decoration: none; }
.side a:hover { background: var(--raised); color: var(--text); }
.side a[aria-current] { background: var(--accent-tint); color: var(--accent); font-weight: 600; }
.find { justify-content: start; font-weight: 400; color: var(--quiet-text); align-self: stretch; border-color: var(--line); }
kbd { font: inherit; font-size: var(--text-s); color: var(--faint-text); margin-inline-start: auto; }
.who { margin-block-start: auto; display: flex; justify-content: space-between; align-items: center; gap: 8px; padding-inline-start: var(--space-8); color: var(--quiet-text); font-size: var(--text-m); }
.palette { inset-block-start: 12vh; margin-block-start: 0; padding: var(--space-8); }
.palette > ul { display: grid; }
.palette .option .icon { color: var(--quiet-text); }
.palette .option.active { outline: none; background: var(--accent-tint); }
.sheet { margin: 0; max-block-size: none; block-size: 100vh; inline-size: min(280px, 80vw); padding: 0; border: none; background: var(--surface); color: var(--text); font: inherit; }
.sheet::backdrop { background: var(--shade); }
main { padding: var(--space-24); max-inline-size: calc(1200px + 2 * var(--space-24)); min-inline-size: 0; }
.head { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: var(--space-12); margin-block-end: var(--space-16); }
.crumbs { font-size: var(--text-m); margin-block-end: var(--space-4); }
.filters { display: flex; flex-wrap: wrap; align-items: end; gap: var(--space-12); margin-block-end: var(--space-16); }
.filters label { display: grid; gap: 4px; font-size: var(--text-s); color: var(--quiet-text); flex: 1 1 130px; max-inline-size: 220px; min-inline-size: 0; }
.filters label:has([type="datetime-local"]) { flex-basis: 210px; }
.filters :is(.textinput, .select) { color: var(--text); font-size: var(--text-m); }
.table { position: relative; overflow-x: auto; background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius-surface); margin-block-end: var(--space-12); }
table { inline-size: 100%; border-collapse: collapse; font-size: var(--text-m); }
th, td { block-size: 36px; padding: 4px var(--space-12); text-align: start; max-inline-size: 320px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
th { color: var(--quiet-text); font-size: var(--text-s); font-weight: 600; background: var(--raised); }
tbody tr { border-block-start: 1px solid var(--line); }
tbody tr.space { border: none; background: none; }
tbody tr:has(.row-actions) td { block-size: 44px; }
.row-actions { text-align: end; max-inline-size: none; overflow: visible; }
.head:has(.maker) > .buttons { flex-basis: 100%; justify-content: space-between; align-items: start; }
.maker { flex: 1; min-inline-size: 0; padding-block: 6px; }
tbody tr:hover { background: var(--raised); }
td a { color: var(--text); font-weight: 600; text-decoration: none; }
td a:hover { color: var(--accent); text-decoration: underline; }
.number { text-align: end; font-variant-numeric: tabular-nums; }
.id { display: inline-flex; align-items: center; gap: 2px; white-space: nowrap; }
.button.small { min-block-size: 24px; padding: 2px 4px; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(240px, 1fr)); gap: var(--space-12) var(--space-24); margin-block: var(--space-16); }
.facts dt { font-size: var(--text-s); color: var(--quiet-text); }
.facts dd { overflow-wrap: anywhere; }
.attempts, .versions, .places { display: grid; border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); }
:is(.attempts, .versions, .places) > li { padding: var(--space-8) var(--space-12); display: grid; gap: var(--space-8); }
:is(.attempts, .versions, .places) > li + li { border-block-start: 1px solid var(--line); }
.attempt { display: grid; grid-template-columns: 24px 100px minmax(120px, 1fr) 120px 72px 96px; align-items: center; gap: var(--space-12); font-size: var(--text-m); }
.attempt meter { inline-size: 100%; block-size: 8px; }
meter::-webkit-meter-bar { block-size: 8px; border: none; border-radius: 4px; background: var(--raised); }
meter::-webkit-meter-optimum-value { background: var(--faint-text); }
meter::-moz-meter-bar { background: var(--faint-text); }
.places > li { display: flex; flex-wrap: wrap; align-items: center; gap: var(--space-8) var(--space-16); }
.counts { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: var(--space-12); margin-block: var(--space-16); }
.counts a { block-size: 100%; }
.count { display: grid; align-content: start; gap: 2px; padding: var(--space-12) var(--space-16); border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); color: var(--text); text-decoration: none; }
.count:hover { border-color: var(--field-line); }
.count strong { font-size: var(--head-l); line-height: 1.25; font-variant-numeric: tabular-nums; }
.count span { color: var(--quiet-text); font-size: var(--text-m); }
.count.bad strong { color: var(--danger); }
.count.warn strong { color: var(--warn); }
.charts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(420px, 100%), 1fr)); gap: var(--space-12); margin-block: var(--space-16); }
.chart { padding: var(--space-12) var(--space-16); border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); min-inline-size: 0; }
.chart > h2 { margin: 0; font-size: var(--text-m); color: var(--quiet-text); }
.chart > p { display: flex; flex-wrap: wrap; align-items: baseline; gap: 0 var(--space-12); margin-block-end: var(--space-8); color: var(--quiet-text); font-size: var(--text-m); }
.chart strong { font-size: var(--head-m); line-height: 1.25; color: var(--text); font-variant-numeric: tabular-nums; }
.plot { position: relative; touch-action: pan-y; }
.plot svg { display: block; inline-size: 100%; block-size: 96px; }
.plot-top { position: absolute; inset-block-start: 0; inset-inline-start: 0; font-size: var(--text-s); line-height: 1.25; color: var(--faint-text); background: var(--surface); padding-inline-end: 4px; }
.plot-foot { display: flex; justify-content: space-between; block-size: 20px; overflow: hidden; white-space: nowrap; margin-block-start: 2px; font-size: var(--text-s); color: var(--quiet-text); font-variant-numeric: tabular-nums; }
.plot :is(line, path) { vector-effect: non-scaling-stroke; fill: none; }
.plot .grid { stroke: var(--line); stroke-width: 1; }
.plot .line { stroke: currentColor; stroke-width: 1.5; stroke-linejoin: round; }
.plot .area { fill: currentColor; opacity: 0.14; }
.plot .cursor { fill: var(--text); opacity: 0.14; }
.plot .accent { color: var(--accent); }
.plot .danger { color: var(--danger); }
.plot .quiet { color: var(--faint-text); }
.log { display: grid; font-size: var(--text-m); border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); overflow: hidden; }
.log li { display: grid; grid-template-columns: 96px 72px minmax(0, 1fr); gap: var(--space-12); padding: 4px var(--space-12); align-items: baseline; }
.log li + li { border-block-start: 1px solid var(--line); }
.log pre { white-space: pre-wrap; overflow-wrap: anywhere; }
.log .frame-line { color: var(--quiet-text); }
.log .frame-line strong { color: var(--text); font-weight: 400; text-decoration: underline; text-decoration-color: var(--field-line); }
.live { display: flex; align-items: center; gap: var(--space-12); min-block-size: 32px; margin-block-end: var(--space-8); font-size: var(--text-m); }
.parts { display: flex; gap: var(--space-4); border-block-end: 1px solid var(--line); margin-block: var(--space-16); overflow-x: auto; }
.parts > a { padding: 6px var(--space-12); color: var(--quiet-text); text-decoration: none; white-space: nowrap; border-radius: var(--radius) var(--radius) 0 0; }
.parts > a:hover { background: var(--raised); }
.parts > a:focus-visible { outline-offset: -2px; }
.parts > a[aria-current] { color: var(--text); font-weight: 600; box-shadow: inset 0 -2px var(--accent); }
.waterfall { position: relative; border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); font-size: var(--text-m); overflow-x: auto; }
.waterfall > div { display: grid; grid-template-columns: minmax(140px, 240px) minmax(160px, 1fr) 110px; gap: var(--space-12); align-items: center; min-block-size: 36px; padding: 4px var(--space-12); }
.waterfall > div + div { border-block-start: 1px solid var(--line); }
.waterfall > div > span:first-child { overflow: hidden; text-overflow: ellipsis; white-space: nowrap; color: var(--quiet-text); }
.waterfall .scale { color: var(--quiet-text); font-size: var(--text-s); font-weight: 600; background: var(--raised); border-radius: var(--radius-surface) var(--radius-surface) 0 0; }
.track { position: relative; block-size: 16px; background: linear-gradient(to right, var(--line) 1px, transparent 1px) 0 0 / 25% 100%; border-inline-end: 1px solid var(--line); }
.track > i { position: absolute; inset-block: 2px; min-inline-size: 4px; border-radius: 2px; background: var(--info); }
.track > i.succeeded { background: var(--good); }
.track > i.failed { background: var(--danger); }
.track > i.fault { background: var(--warn); }
.short-form { display: flex; flex-wrap: wrap; align-items: end; gap: var(--space-12); margin-block: var(--space-16); }
.short-form > label { display: grid; gap: 4px; font-size: var(--text-s); color: var(--quiet-text); flex: 0 1 240px; }
.short-form :is(.textinput, .select) { color: var(--text); font-size: var(--text-m); }
.short-form > .button { align-self: end; }
.short-form > .callout { flex-basis: 100%; }
.consequences { display: grid; gap: var(--space-4); padding-inline-start: var(--space-16); list-style: disc; }
.card-form { display: grid; gap: var(--space-12); }
.version { display: grid; grid-template-columns: 40px 96px 1fr; align-items: center; gap: var(--space-12); }
.versions .short-form { margin-block: 0; }
.versions .short-form > label { flex-basis: 560px; }
.difference .added { background: var(--good-tint); }
.difference .removed { background: var(--danger-tint); }
.drop { display: grid; justify-items: center; gap: var(--space-12); padding: var(--space-48) var(--space-16); margin-block-end: var(--space-16); text-align: center; border: 2px dashed var(--field-line); border-radius: var(--radius-surface); color: var(--quiet-text); }
.drop.over { border-color: var(--accent); background: var(--accent-tint); color: var(--text); }
.drop .icon { inline-size: 32px; block-size: 32px; }
.drop .button { position: relative; align-self: center; color: var(--text); }
.drop .button:focus-within { outline: 2px solid var(--accent); outline-offset: 2px; }
.published { display: grid; gap: var(--space-12); margin-block: var(--space-16); }
.problems { display: grid; gap: var(--space-12); }
.problems > li { display: flex; gap: var(--space-8); }
.problems > li > .icon { margin-block-start: 3px; color: var(--warn); }
.problems > .error > .icon { color: var(--danger); }
.problems > .error { color: inherit; font-size: inherit; }
.problems > li > div { min-inline-size: 0; flex: 1; display: grid; gap: 4px; }
.faint { color: var(--faint-text); }
.drawn { padding: var(--space-16); border: 1px solid var(--line); border-radius: var(--radius-surface); background: var(--surface); }
.filters .wide { max-inline-size: 420px; flex-basis: 280px; }
.empty { display: grid; justify-items: center; gap: var(--space-12); padding: var(--space-48) var(--space-16); color: var(--quiet-text); text-align: center; border: 1px dashed var(--line); border-radius: var(--radius-surface); }
.sign-in { min-block-size: 100vh; display: grid; place-items: center; margin-inline: auto; }
.card { display: grid; gap: var(--space-16); inline-size: min(400px, 100%); padding: var(--space-24); background: var(--surface); border: 1px solid var(--line); border-radius: var(--radius-surface); }
@media (max-width: 1100px) {
  .frame { grid-template-columns: 56px minmax(0, 1fr); }
  .frame > .side { padding-inline: var(--space-8); }
  .frame > .side .organization { display: none; }
  .frame > .side :is(.words, kbd) { position: absolute; inline-size: 1px; block-size: 1px; overflow: hidden; clip-path: inset(50%); }
  .frame > .side :is(a, .button) { justify-content: center; padding-inline: 0; min-block-size: 36px; inline-size: 100%; }
  .frame > .side .who { padding: 0; }
  .frame > .side .brand { text-align: center; padding: 0; }
  .frame > .side .brand::before { content: "A"; }
}
@media (max-width: 720px) {
  .version > .buttons { grid-column: 1 / -1; }
  .frame { grid-template-columns: minmax(0, 1fr); grid-template-rows: auto 1fr; }
  .frame > .side { display: none; }
  .bar { display: flex; align-items: center; justify-content: space-between; padding: var(--space-4) var(--space-8); border-block-end: 1px solid var(--line); background: var(--surface); position: sticky; inset-block-start: 0; z-index: 1; }
  .sheet .side { border: none; block-size: 100%; }
  main { padding: var(--space-16); }
  .attempt { grid-template-columns: 24px minmax(0, 1fr) auto; row-gap: 0; }
  .attempt > meter { display: none; }
  .attempt > .state { grid-area: 1 / 2; }
  .attempt > time { grid-area: 1 / 3; }
  .attempt > [dir] { grid-area: 2 / 2; }
  .attempt > meter + .number { grid-area: 2 / 3; }
  .log li { grid-template-columns: auto 1fr; row-gap: 0; }
  .log li > :nth-child(n + 3) { grid-column: 1 / -1; }
}
`;

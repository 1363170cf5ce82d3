/**
 * A chart of ratios, as SVG: a bar for each row on a logarithmic scale, with its spread and its
 * aim.
 */
import { isMet, type Row, shown } from './figures.ts';

const LEFT = 430;
const WIDTH = 360;
const RIGHT = 190;
const LINE = 26;
const TOP = 44;
const TICKS = [0.1, 0.25, 0.5, 1, 2, 4, 10];

const STYLE = `text{font:13px system-ui,sans-serif;fill:#1f2328}.dim{fill:#59636e}.grid{stroke:#d1d9e0}.one{stroke:#59636e}
.met{fill:#2f7d4f}.missed{fill:#b35900}.plain{fill:#57708f}.spread{stroke:#1f2328}.aim{stroke:#1f2328;stroke-width:2}
@media (prefers-color-scheme:dark){text{fill:#f0f6fc}.dim{fill:#9198a1}.grid{stroke:#3d444d}.one{stroke:#9198a1}
.met{fill:#4bb274}.missed{fill:#e0883a}.plain{fill:#7f9dc4}.spread,.aim{stroke:#f0f6fc}}`;

const escaped = (text: string): string => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;');

/** @param about the machine and the date */
export function chart(rows: readonly Row[], about: string): string {
  // An aim in a unit is about no ratio.
  const drawn = rows.filter(({ ratio, aim }) => ratio !== undefined && !aim?.isAbsolute);
  const [low, high] = [TICKS[0] ?? 1, TICKS.at(-1) ?? 1].map(Math.log) as [number, number];
  const x = (ratio: number) => {
    const share = (Math.log(ratio) - low) / (high - low);
    return Math.round(LEFT + WIDTH * Math.min(1, Math.max(0, share)));
  };
  const bottom = TOP + drawn.length * LINE;
  const lines = drawn.map((row, at) => {
    const [y, ratio] = [TOP + at * LINE, row.ratio ?? 1];
    const kind = { true: 'met', false: 'missed', undefined: 'plain' }[`${isMet(row)}`] ?? 'plain';
    const [from, to] = [x(1), x(ratio)].sort((one, other) => one - other) as [number, number];
    const limit = row.aim?.least ?? row.aim?.most;
    return [
      `<text x="${LEFT - 10}" y="${y + 16}" text-anchor="end">${escaped(row.row)}</text>`,
      `<rect class="${kind}" x="${from}" y="${y + 4}" width="${Math.max(2, to - from)}" height="${LINE - 9}"/>`,
      `<path class="spread" d="M${x(row.low)} ${y + 12}H${x(row.high)}"/>`,
      limit ? `<path class="aim" d="M${x(limit)} ${y + 1}V${y + LINE - 2}"/>` : '',
      `<text x="${LEFT + WIDTH + 10}" y="${y + 16}">${shown(ratio)} × <tspan class="dim">${escaped(row.to ?? '')}</tspan></text>`,
    ].join('');
  });
  const grid = TICKS.map(
    (tick) =>
      `<path class="${tick === 1 ? 'one' : 'grid'}" d="M${x(tick)} ${TOP - 6}V${bottom}"/><text class="dim" x="${x(tick)}" y="${TOP - 12}" text-anchor="middle">${tick} ×</text>`,
  );
  const [width, height] = [LEFT + WIDTH + RIGHT, bottom + 30];
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"><style>${STYLE}</style>
${grid.join('\n')}
${lines.join('\n')}
<text class="dim" x="10" y="${height - 8}">${escaped(about)} Thin line: spread of the rounds. Thick mark: aim.</text></svg>
`;
}

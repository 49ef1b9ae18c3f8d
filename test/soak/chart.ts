import { BOUNDS, type Row, type Sample, WARM_UP } from './series.ts';

const WIDTH = 720;
const PANEL = { width: 330, height: 70, left: 14, gap: 26, top: 56 };
const COLUMNS = 2;

/** The chart has a background: it is readable on any page, whichever theme the reader's system asks for. */
const STYLE = `.page { fill: #ffffff; stroke: #d0d7de } .panel { fill: none; stroke: #d0d7de } text { fill: #1f2328 }
.line { fill: none; stroke: #1a9e6f } .warm-up { fill: #7f8a9c; opacity: 0.18 }
@media (prefers-color-scheme: dark) { .page { fill: #0d1117; stroke: #3d444d } .panel { stroke: #3d444d }
text { fill: #e6edf3 } }`;

/** One panel for each series, over time. The warm-up is grey. */
export function chart(title: string, samples: readonly Sample[], rows: readonly Row[]): string {
  const panels = rows.map((row, index) => {
    const x = PANEL.left + (index % COLUMNS) * (PANEL.width + PANEL.gap);
    const y = PANEL.top + Math.floor(index / COLUMNS) * (PANEL.height + PANEL.gap);
    return panel(row, samples, { x, y });
  });
  const height = PANEL.top + Math.ceil(rows.length / COLUMNS) * (PANEL.height + PANEL.gap);
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" width="${WIDTH}" \
height="${height}" font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="${title}">
<style>${STYLE}</style>
<rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${height - 1}" rx="6"/>
<text x="14" y="20" font-size="13" font-weight="600">${title}</text>
${panels.join('\n')}
</svg>
`;
}

function panel({ name }: Row, samples: readonly Sample[], { x, y }: { x: number; y: number }): string {
  const { title, unit, scale } = BOUNDS[name];
  const values = samples.map((sample) => sample[name] / scale);
  const top = Math.max(...values, 1e-9);
  const end = samples.at(-1)?.atMs ?? 1;
  const points = samples.map(({ atMs }, index) => {
    const across = x + (atMs / end) * PANEL.width;
    const down = y + PANEL.height - ((values[index] ?? 0) / top) * PANEL.height;
    return `${across.toFixed(1)},${down.toFixed(1)}`;
  });
  const { width, height } = PANEL;
  return `<text x="${x}" y="${y - 5}">${title}, up to ${top.toFixed(top < 10 ? 1 : 0)} ${unit}</text>
<rect class="warm-up" x="${x}" y="${y}" width="${(width * WARM_UP).toFixed(1)}" height="${height}"/>
<rect class="panel" x="${x}" y="${y}" width="${width}" height="${height}"/>
<polyline class="line" points="${points.join(' ')}"/>`;
}

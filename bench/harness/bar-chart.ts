type Row = {
  readonly label: string;
  readonly bars: readonly { readonly name: string; readonly value: number }[];
};

/** The first is the service. Each has enough contrast on both backgrounds. */
const COLOURS = ['#1a9e6f', '#7f8a9c', '#c07d22', '#b8602f', '#7c6fc4', '#4a90c4'];
const BAR = { height: 13, gap: 2 };
const GROUP_GAP = 12;
const LEFT = 110;
const WIDTH = 720;
const LABEL_WIDTH = 60;
const LEGEND_WIDTH = 232;
const LEGEND_COLUMNS = 3;

/** The chart has a background: it is readable on any page, whichever theme the reader's system asks for. */
const STYLE = `.page { fill: #ffffff; stroke: #d0d7de } text { fill: #1f2328 }
@media (prefers-color-scheme: dark) { .page { fill: #0d1117; stroke: #3d444d } text { fill: #e6edf3 } }`;

/** Horizontal bars, grouped by row: CPU time per request in microseconds. */
export function barChart(title: string, rows: readonly Row[]): string {
  const longest = Math.max(...rows.flatMap(({ bars }) => bars.map(({ value }) => value)));
  const scale = (WIDTH - LEFT - LABEL_WIDTH) / longest;
  const names = rows[0]?.bars.map(({ name }) => name) ?? [];
  const legend = names.map((name, index) => {
    const x = 14 + (index % LEGEND_COLUMNS) * LEGEND_WIDTH;
    const y = 34 + Math.floor(index / LEGEND_COLUMNS) * 18;
    return `<rect x="${x}" y="${y}" width="10" height="10" fill="${COLOURS[index]}"/>${text(x + 16, y + 9, name)}`;
  });
  const bars: string[] = [];
  let y = 50 + Math.ceil(names.length / LEGEND_COLUMNS) * 18;
  for (const row of rows) {
    const height = row.bars.length * (BAR.height + BAR.gap);
    bars.push(text(LEFT - 8, y + height / 2 + 3, row.label, 'end'));
    for (const [index, { value }] of row.bars.entries()) {
      const width = Math.max(1, value * scale).toFixed(1);
      bars.push(
        `<rect x="${LEFT}" y="${y}" width="${width}" height="${BAR.height}" fill="${COLOURS[index]}"/>`,
        text(LEFT + Number(width) + 5, y + BAR.height - 3, value.toFixed(0)),
      );
      y += BAR.height + BAR.gap;
    }
    y += GROUP_GAP;
  }
  const heading = `${title}: CPU time per request in microseconds, less is better`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${y}" width="${WIDTH}" height="${y}" \
font-family="system-ui, sans-serif" font-size="11" role="img" aria-label="${heading}">
<style>${STYLE}</style>
<rect class="page" x="0.5" y="0.5" width="${WIDTH - 1}" height="${y - 1}" rx="6"/>
<text x="14" y="20" font-size="13" font-weight="600">${heading}</text>
${[...legend, ...bars].join('\n')}
</svg>
`;
}

function text(x: number, y: number, words: string, anchor: 'start' | 'end' = 'start'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${words}</text>`;
}

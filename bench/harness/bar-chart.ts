type Row = {
  readonly label: string;
  readonly bars: readonly { readonly name: string; readonly value: number }[];
};

const COLOURS = ['#0b6e4f', '#9aa5b1', '#7b8794', '#52606d', '#cbd2d9'];
const BAR = { height: 14, gap: 3 };
const LEFT = 110;
const WIDTH = 640;
const LABEL_WIDTH = 70;

/** Horizontal bars, grouped by row: CPU time a request in microseconds. */
export function barChart(title: string, rows: readonly Row[]): string {
  const longest = Math.max(...rows.flatMap(({ bars }) => bars.map(({ value }) => value)));
  const scale = (WIDTH - LEFT - LABEL_WIDTH) / longest;
  const names = rows[0]?.bars.map(({ name }) => name) ?? [];
  const parts: string[] = [];
  let y = 50;
  for (const { label, bars } of rows) {
    parts.push(text(LEFT - 8, y + (bars.length * (BAR.height + BAR.gap)) / 2, label, 'end'));
    for (const [index, { value }] of bars.entries()) {
      const width = Math.max(1, value * scale).toFixed(1);
      parts.push(
        `<rect x="${LEFT}" y="${y}" width="${width}" height="${BAR.height}" fill="${COLOURS[index]}"/>`,
      );
      parts.push(text(LEFT + Number(width) + 5, y + BAR.height - 3, value.toFixed(0), 'start'));
      y += BAR.height + BAR.gap;
    }
    y += 10;
  }
  const legend = names.map((name, index) => {
    const x = 10 + index * 125;
    return `<rect x="${x}" y="26" width="10" height="10" fill="${COLOURS[index]}"/>${text(x + 14, 35, name, 'start')}`;
  });
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${WIDTH}" height="${y}" font-family="sans-serif" font-size="11">
<rect width="100%" height="100%" fill="#ffffff"/>
${text(10, 16, `${title}: CPU time a request, in microseconds (less is better)`, 'start')}
${[...legend, ...parts].join('\n')}
</svg>
`;
}

function text(x: number, y: number, words: string, anchor: 'start' | 'end'): string {
  return `<text x="${x}" y="${y}" text-anchor="${anchor}" fill="#1f2933">${words}</text>`;
}

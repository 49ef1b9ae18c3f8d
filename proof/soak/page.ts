import { BOUNDS, MIB, type Verdict } from './series.ts';

export type SoakFacts = {
  readonly store: string;
  readonly machine: readonly string[];
  readonly minutes: number;
  readonly requests: number;
  readonly pets: number;
  readonly keys: string;
  readonly wrong: number;
};

/** Returns the text of the page about a run. */
export function page(facts: SoakFacts, rows: readonly Verdict[]): string {
  const { store, machine, minutes, requests, pets, keys, wrong } = facts;
  const lines = rows.map(({ name, level, growth, atMost, holds }) => {
    const { title, unit, because } = BOUNDS[name];
    const text = (value: number) => (value / (unit === 'MiB' ? MIB : 1)).toFixed(2);
    const bound = `${text(atMost)} ${unit}`.trim();
    return `| ${title} | ${text(level)} ${unit} | ${text(growth)} ${unit} | ${bound} | ${because} | ${holds ? 'yes' : '**no**'} |`;
  });
  return `# Soak

One service process under a mixed load: pages, filtered pages, single pets, creates with and without
\`Idempotency-Key\`, bad requests, wrong keys. Clients open new connections all the time, and API keys are made and
revoked while they are in use.

\`npm run soak\` wrote this page.

- ${machine.join('\n- ')}
- store: ${store}, ${minutes} minutes, ${requests} requests, ${pets} pets added, ${wrong} wrong or missing answers
- ${keys}

A series grows if its Theil-Sen slope after the warm-up, times the length of that part, is above its bound. The
service collects its garbage every 3 seconds. The heap counts as the least of five samples in a row.

| series | median | growth | at most | what the bound leaves room for | holds |
|---|---|---|---|---|---|
${lines.join('\n')}
`;
}

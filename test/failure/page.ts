/** The published page. */
export function page(content: {
  readonly command: string;
  readonly repetitions: number;
  readonly machine: readonly string[];
  readonly tables: string;
  readonly closing: string;
}): string {
  const { command, repetitions, machine, tables, closing } = content;
  return `# What happens when something fails

Written by \`${command}\`: do not edit. Each scenario ran ${repetitions} times with real processes: the service as
its users run it, on three \`mongod\` on loopback (\`electionTimeoutMillis\` 1000, \`heartbeatIntervalMillis\` 200)
or on a file. Its clients send \`POST /v1/pets\` with an Idempotency-Key, \`GET\` acknowledged pets, and send wrong
requests.

${machine.map((fact) => `- ${fact}`).join('\n')}

**${closing}**

How to read it:

- An *attempt* is one request. The next five columns count pets.
- *Acknowledged*: answered 201.
- *Rejected*: a refused connection or a 4xx, which certainly had no effect.
- *Unknown*: every other outcome. *Unknown and stored*: those of them that were found in the store.
- *Replayed*: acknowledged with the pet of an earlier attempt. Most clients repeat a request until it is acknowledged,
  some give up after one attempt.
- *Lost*: acknowledged, and later missing or different in any byte. The suite looks on each member of the replica set
  (with read concern majority) or in the file, and in the list of the service.
- *Duplicates per key*: two pets for one Idempotency-Key.
- *Ids twice*: one id for two pets, acknowledged or stored.
- *Wrongly blamed*: a 4xx for a valid request, or any answer but 400 for a wrong one.
- The *gap* is the longest time without an acknowledgement.
- The times of *p99* run from the first attempt to the acknowledgement. *During* covers every request that the fault can
  have affected.

After each scenario the suite repeats a sample of the requests, which must give the same bytes, and counts lost pets,
duplicates and ids again. A scenario also fails on an acknowledged pet that a GET did not find, on a 503 without
\`Retry-After\`, and on a pet that no client asked for.

${tables}
`;
}

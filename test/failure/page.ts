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

Written by \`${command}\`: do not edit. ${repetitions} repetitions of each scenario, with real processes: three
\`mongod\` on loopback (\`electionTimeoutMillis\` 1000, \`heartbeatIntervalMillis\` 200) or a file on a disk, the service as
its users run it, and clients that send \`POST /v1/pets\` with an Idempotency-Key, \`GET\` what was acknowledged, and send
wrong requests.

${machine.map((fact) => `- ${fact}`).join('\n')}

**${closing}**

How to read it:

- An *attempt* is one request; the next three columns count pets. *Acknowledged*: answered 201. *Rejected*: it is
  certain that nothing was done (a refused connection, or 4xx). *Unknown*: anything else. Most clients repeat the same
  request until it is acknowledged, some give up after one attempt. *Of these there*: unknown, and found stored.
  *Replayed*: acknowledged as the pet that an earlier attempt had made.
- *Lost*: acknowledged, and afterwards not there or not the same in every byte, on any member of the replica set (asked
  one by one, with read concern majority), in the file, or in the list of the service. *Duplicates per key*: two pets
  for one Idempotency-Key. *Ids twice*: one id for two pets, among what was acknowledged and what is stored. All three are
  looked for again after a sample of the requests has been sent once more, which must give the same bytes.
- *Wrongly blamed*: a 4xx for a good request, or anything but 400 for a wrong one. Checked as well, and 0 wherever it
  says passed: acknowledged pets that a GET did not find, 503 without \`Retry-After\`, pets that nobody has asked for.
- The *gap* is the time without an acknowledgement. The times of *p99* go from the first attempt to the
  acknowledgement; *during* is every request that the fault can have touched.

${tables}
`;
}

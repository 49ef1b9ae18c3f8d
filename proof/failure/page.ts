/** The published page. */
export function renderPage(content: {
  readonly command: string;
  readonly machine: readonly string[];
  readonly tables: string;
  readonly closing: string;
}): string {
  const { command, machine, tables, closing } = content;
  return `# What happens when something fails

Written by \`${command}\`: do not edit. Real processes: the service as its users run it, on three \`mongod\`
on loopback (\`electionTimeoutMillis\` 1000, \`heartbeatIntervalMillis\` 200, unless its name says otherwise) or on a
file. Its clients add pets with and without an Idempotency-Key, read pets and pages, walk through the catalogue, and
send wrong requests. In some
scenarios an operator creates and revokes the keys that they use.

${machine.map((fact) => `- ${fact}`).join('\n')}

**${closing}**

How to read it:

- An *attempt* is one request. The next five columns count pets.
- *Acknowledged*: answered 201.
- *Rejected*: a refused connection or a 4xx, which certainly had no effect.
- *Unknown*: every other outcome. *Unknown and stored*: those of them that were found in the store.
- *Replayed*: acknowledged with the pet of an earlier attempt. Most clients repeat a request with an Idempotency-Key
  until it is acknowledged, some give up after one attempt.
- *Reads*: answers to \`GET\` of one pet, and pages.
- *Lost*: acknowledged or shown, and missing in the storage at the end. The suite looks on each member of the replica
  set (with read concern majority) or in the file.
- *Missed*: acknowledged or shown, and missing in the answer to a read that began later, by any service.
- *Second pets*: two pets for one request or one Idempotency-Key.
- *Ids*: one id for two pets, a pet that has changed, or an id that is less than one shown before its request.
- *Keys*: an API key that was accepted 10 seconds after its revocation, or refused without one.
- *Other*: a pet that no client asked for, the answer to another request, a page out of order or with a pet twice.
- *Wrongly blamed*: a 4xx for a valid request, or any answer but 400 for a wrong one.
- The *gap* is the longest time without an acknowledgement.
- The times of *p99* run from the first attempt to the acknowledgement. *During* covers every request that the fault can
  have affected.

Every scenario leaves a history of all calls with their begin, end, outcome and answer. It decides the columns in bold:
see [check-history.ts](check-history.ts). After the load the suite reads the whole catalogue, repeats a
sample of the requests, which must give the same bytes, and reads it again; that is part of the history. The minutes of
history are the time for which clients sent requests, summed over the scenarios. A scenario also fails on a 503 without
\`Retry-After\`.

${tables}
`;
}

/** Writes the text of `results.md`. */
export function renderPage(content: {
  readonly command: string;
  readonly machine: readonly string[];
  readonly tables: string;
  readonly closing: string;
}): string {
  const { command, machine, tables, closing } = content;
  return `# What happens when something fails

\`${command}\` has written this page: do not edit it. The scenarios run real processes: the service as an operator runs
it, on three \`mongod\` on loopback or on a SQLite file. The \`mongod\` have \`electionTimeoutMillis\` 1000 and
\`heartbeatIntervalMillis\` 200. Where a scenario uses other settings, its name says so. The clients of the service add
pets with and without an Idempotency-Key, read pets and pages, read the whole list page by page, and send wrong
requests. In some scenarios the clients use API keys that an operator creates and revokes meanwhile.

${machine.map((fact) => `- ${fact}`).join('\n')}

**${closing}**

The columns of the tables:

- *Attempts* counts the requests to add a pet, with their retries. The next four columns count pets.
- *Acknowledged*: a request for the pet was answered with 201.
- *Rejected*: each request for the pet had a refused connection or a 4xx, so it certainly had no effect.
- *Unknown*: every other outcome. *Unknown and stored* counts the pets of unknown outcome that are in the storage.
- *Replayed* counts the answers of 201 with the pet of an earlier attempt. Most clients repeat a request with an
  Idempotency-Key until it is acknowledged. Some clients stop after one attempt.
- *Reads* counts the answers to reads of one pet and of a page.
- *Lost*: a pet was acknowledged or shown, and is missing in the storage at the end. The suite reads each member of the
  replica set (with read concern majority) or the file.
- *Missed*: a pet was acknowledged or shown, and a read of any service that began later does not show it.
- *Second pets*: one request or one Idempotency-Key added two pets.
- *Ids*: two pets have one id, a pet has changed, or an id is less than an id that was shown before its request.
- *Keys*: an API key was accepted 10 seconds after its revocation, or was refused before its revocation.
- *Other*: a pet that no client requested, an answer to another request, or a page with a wrong order or a pet twice.
- *Wrongly blamed*: a valid request was answered with a 4xx, or a wrong request with another answer than 400.
- The *longest gap* is the longest time without an acknowledged pet.
- *p99* is the time from the first attempt to the acknowledgement, which 99 % of the pets do not exceed. *During* has
  every pet whose requests the fault can have affected.

Every scenario leaves a history of all calls with their begin, end, outcome and answer.
[check-history.ts](check-history.ts) computes the columns in bold from the history. After the load the suite reads all
pets, repeats some requests, which must have the same answer byte for byte, and reads all pets again. These calls are
part of the history. The minutes of history are the time in which clients sent requests, summed over the scenarios. A
scenario also fails if a 503 has no \`Retry-After\`.

${tables}
`;
}

/** Turns a log line of JSON into text for a terminal. Loads pino-pretty, which a service without a terminal never needs. */
export async function terminalFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({});
}

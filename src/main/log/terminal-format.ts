/** Turns a JSON log line into text for a terminal. Loads pino-pretty on demand: most services have no terminal. */
export async function terminalFormat(): Promise<(line: string) => string> {
  const { prettyFactory } = await import('pino-pretty');
  return prettyFactory({});
}

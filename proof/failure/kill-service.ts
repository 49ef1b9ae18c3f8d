import type { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';

/** Kills one service after the other while clients send requests. Starts each service again right after its kill. */
export async function killServices(
  stage: Stage,
  services: readonly [ServiceProcess, ...ServiceProcess[]],
  { times, everySeconds }: { readonly times: number; readonly everySeconds: number },
): Promise<void> {
  const load = await stage.startLoad(services);
  if (stage.form === 'full') stage.turnOverKeys(load, services[0]);
  for (let round = 0; round < times; round++) {
    await stage.letRun(everySeconds);
    load.beginFault();
    const victim = services[round % services.length] ?? services[0];
    await victim.kill();
    await victim.start();
    load.endFault();
  }
  await stage.letRun(2);
}

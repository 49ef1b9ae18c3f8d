import type { ServiceProcess } from './service-process.ts';
import type { Stage } from './stage.ts';

/** Kills the service three times under load, and starts it again each time. */
export async function killService(stage: Stage, service: ServiceProcess): Promise<void> {
  const load = await stage.load([service]);
  for (let round = 0; round < 3; round++) {
    await stage.letRun(2);
    load.fault();
    await service.kill();
    await service.start();
    load.healed();
  }
  await stage.letRun(2);
}

import { expect, it } from 'vitest';
import { createMetrics } from '../../../src/adapters/metrics/create-metrics.ts';
import { aStorage, BUILD, seriesOf } from '../../support/metrics.ts';

const API = { deprecatedRoute: '/v1/pets/:petId', statuses: [] };

it('the series of a process have its build and each check of its storage, that of the scrape included', async () => {
  const metrics = createMetrics(API, BUILD);
  await metrics.storage(await aStorage()).probe.check();
  const series = seriesOf(await metrics.text());
  expect(series.get('petstore_build_info{version="1.2.3",commit="0123456789ab"}')).toBe(1);
  expect(series.get('petstore_storage_ready')).toBe(1);
  const checks = 'petstore_storage_operation_duration_seconds_count{operation="check"}';
  expect(seriesOf(await metrics.text()).get(checks)).toBeGreaterThanOrEqual(2);
});

/** Loaded into each contestant before its program. Measures the delay of the event loop on request. */
import { monitorEventLoopDelay } from 'node:perf_hooks';

const RESOLUTION_MS = 1;
const histogram = monitorEventLoopDelay({ resolution: RESOLUTION_MS });

process.on('message', (command) => {
  if (command === 'begin') {
    histogram.reset();
    histogram.enable();
  } else {
    histogram.disable();
    process.send?.(Math.max(0, histogram.percentile(99) / 1e6 - RESOLUTION_MS));
  }
});

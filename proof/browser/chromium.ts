import { type Browser, chromium } from 'playwright-core';
import type { TestContext } from 'vitest';
import { findOnPath } from '../../test/support/mongod-binary.ts';

const NAMES = ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'];

const MISSING = `no Chromium: set CHROMIUM_BIN, or put one of ${NAMES.join(', ')} on PATH`;

/**
 * Starts a headless Chromium: `CHROMIUM_BIN`, or a Chromium on `PATH`. If there is none, the test is skipped, or fails
 * if `CI` is `true`.
 *
 * @throws {Error} when `CI` is `true` and there is no Chromium, or when Chromium does not start
 */
export async function startChromium({ skip }: Pick<TestContext, 'skip'>): Promise<Browser> {
  const onPaths = await Promise.all(NAMES.map(findOnPath));
  const executablePath = process.env['CHROMIUM_BIN'] || onPaths.find((path) => path !== undefined);
  if (executablePath === undefined) {
    if (process.env['CI'] === 'true') throw new Error(MISSING);
    return skip(MISSING);
  }
  // Chromium needs `--no-sandbox` when it runs as root. The tests open only their own pages in it.
  const args = ['--no-sandbox', '--disable-quic', '--disable-background-networking'];
  return await chromium.launch({ executablePath, args });
}

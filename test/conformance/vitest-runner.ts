import type { SuiteRunner } from '@waybill/testkit/conformance'
import { describe, test } from 'vitest'

/** Vitest as the runner of the suites. */
export const vitestRunner: SuiteRunner = {
  describe: (title, define) => describe(title, define),
  test: (title, run) => test(title, run),
  skip: (title, reason) => test(title, (context) => context.skip(reason)),
  print: (text) => void process.stdout.write(`${text}\n`),
}

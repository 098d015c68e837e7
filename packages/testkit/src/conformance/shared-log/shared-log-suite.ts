import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import { appendPart } from './append-part.ts'
import { readPart } from './read-part.ts'
import type { SharedLogHarness } from './shared-log-harness.ts'
import { LogScene } from './shared-log-scene.ts'

/** Declares the tests of a `SharedLog`: one order for all readers, the newest value of each key, nothing passed over. */
export function sharedLogSuite(harness: SharedLogHarness, runner: SuiteRunner): void {
  declareSuite('what a shared log keeps', harness, runner, (subject) => new LogScene(subject), [appendPart, readPart])
}

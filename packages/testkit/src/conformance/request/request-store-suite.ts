import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import { requestMarkPart } from './request-mark-part.ts'
import { requestRunPart } from './request-run-part.ts'
import { RequestScene } from './request-scene.ts'
import type { RequestStoreHarness } from './request-store-harness.ts'

/** Declares the tests of a `RequestStore`: one of many sets a mark, it expires, and requests run once over it. */
export function requestStoreSuite(harness: RequestStoreHarness, runner: SuiteRunner): void {
  const parts = [requestMarkPart, requestRunPart]
  declareSuite('what a request store answers', harness, runner, (subject) => new RequestScene(subject), parts)
}

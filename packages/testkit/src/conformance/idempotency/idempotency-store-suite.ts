import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import type { IdempotencyStoreHarness } from './idempotency-store-harness.ts'
import { inboxPart } from './inbox-part.ts'
import { markPart } from './mark-part.ts'
import { MarkScene } from './mark-scene.ts'

/** Declares the tests of an `IdempotencyStore`: a mark is exact across nodes, and commits with its effect in an inbox. */
export function idempotencyStoreSuite(harness: IdempotencyStoreHarness, runner: SuiteRunner): void {
  const parts = [markPart, inboxPart]
  declareSuite('what an idempotency store answers', harness, runner, (subject) => new MarkScene(subject), parts)
}

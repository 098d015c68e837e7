import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import type { IdempotencyStoreHarness } from './idempotency-store-harness.ts'
import { inboxPart } from './inbox-part.ts'
import { markPart } from './mark-part.ts'
import { MarkScene } from './mark-scene.ts'

/** What handlers rely on: a mark is exact, for all nodes and one consumer; and with an inbox it commits with its effect. */
export function idempotencyStoreSuite(harness: IdempotencyStoreHarness, runner: SuiteRunner): void {
  const parts = [markPart, inboxPart]
  declareSuite('what an idempotency store answers', harness, runner, (subject) => new MarkScene(subject), parts)
}

import { declareSuite } from '../suite/suite.ts'
import type { SuiteRunner } from '../suite/suite-runner.ts'
import { bytesPart } from './bytes-part.ts'
import { claimPart } from './claim-part.ts'
import { finishPart } from './finish-part.ts'
import { insertPart } from './insert-part.ts'
import { keepingPart } from './keeping-part.ts'
import { lateCommitPart } from './late-commit-part.ts'
import type { OutboxStoreHarness } from './outbox-store-harness.ts'
import { OutboxStoreScene } from './outbox-store-scene.ts'
import { shardPart } from './shard-part.ts'
import { soleNodePart } from './sole-node-part.ts'

/**
 * Declares the tests of an `OutboxStore`: events are read as they were written, a row has one owner at a time by the clock
 * of the database, and only the owner can finish it, permanently.
 */
export function outboxStoreSuite(harness: OutboxStoreHarness, runner: SuiteRunner): void {
  const parts = [insertPart, claimPart, finishPart, keepingPart, shardPart, soleNodePart, lateCommitPart, bytesPart]
  declareSuite('what an outbox store answers', harness, runner, (subject) => new OutboxStoreScene(subject), parts)
}

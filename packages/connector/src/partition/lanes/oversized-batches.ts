/**
 * Moves a batch that is too large to decompress to the dead letters, by reference. Its partition reads nothing after it
 * until then.
 *
 *     FOUND ──every record before it is settled──▶ MOVING ──dead letter confirmed──▶ settled, reading continues after it
 *
 * The batch waits for those records because a commit could not hold so many offsets above an unsettled one.
 */

import { RecordHeaders } from '@waybill/core'
import type { KafkaRecord } from '@waybill/kafka'
import type { OversizedBatchError } from '@waybill/kafka/internal'
import type { PartitionShell } from '../partition-shell.ts'
import type { WorkerDeps } from '../partition-worker.ts'
import type { PartitionAccount } from './partition-account.ts'
import { RecordMover } from './record-mover.ts'

/** See the file's comment. */
export class OversizedBatches {
  readonly #deps: WorkerDeps
  readonly #shell: PartitionShell
  readonly #account: PartitionAccount
  readonly #mover: RecordMover
  #found: OversizedBatchError | undefined
  #isMoving = false

  constructor(deps: WorkerDeps, shell: PartitionShell, account: PartitionAccount) {
    this.#deps = deps
    this.#shell = shell
    this.#account = account
    this.#mover = new RecordMover(deps, shell.writes, shell.scope)
  }

  /** Dead letters that are not confirmed. */
  get unconfirmed(): number {
    return this.#mover.unconfirmed
  }

  /** Notes the batch that the partition has reached. All records before it were accepted. */
  found(error: OversizedBatchError): void {
    this.#found = error
    this.moveIfReady()
  }

  /** Forgets the batch of a log that was cut. */
  forget(): void {
    this.#found = undefined
  }

  /** Moves the batch once every record before it is settled. Called whenever a record may be settled. */
  moveIfReady(): void {
    const { scope, pauses } = this.#shell
    if (this.#found === undefined || this.#isMoving || !scope.isRunning || pauses.isHalted) return
    if (this.#account.hasNoUnsettled) void this.#move(this.#found)
  }

  /** Never rejects. */
  async #move(error: OversizedBatchError): Promise<void> {
    const { runtime, consumer, changed, fail } = this.#deps
    const { scope, at } = this.#shell
    const { batch } = error
    this.#isMoving = true
    try {
      const work = this.#shell.workOf(referenceTo(error, this.#deps.epoch), this.#shell.slice(), 0)
      const failure = { error, attempts: 0, atMs: runtime.clock.now() }
      const as = await this.#mover.move(work, { kind: 'DEAD_LETTER', reason: 'NON_RETRYABLE', failure })
      if (as === undefined || scope.isEnded || !this.#shell.isOfEra(work)) return
      this.#account.bury(batch)
      this.#found = undefined
      changed(true)
      if (scope.isRunning) consumer.seek(at, batch.lastOffset + 1n)
    } catch (thrown) {
      fail(thrown)
    } finally {
      this.#isMoving = false
    }
  }
}

/** A record without content, at the place of the batch. */
function referenceTo({ batch }: OversizedBatchError, epoch: number): KafkaRecord {
  const { topic, partition, firstOffset: offset, timestamp } = batch
  return { topic, partition, epoch, offset, timestamp, key: null, value: null, headers: RecordHeaders.empty }
}

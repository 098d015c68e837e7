import assert from 'node:assert/strict'
import { createUlidGenerator, systemRuntime } from '@waybill/core'
import type { NewOperation, OperationProgress, OperationStore, TakenOperation } from '@waybill/core/internal'
import type { Suite } from '../suite/suite.ts'
import { until } from '../suite/until.ts'
import type { OperationStoreCapability, OperationsUnderTest } from './operation-store-harness.ts'

/** Collects the tests of a part of this suite. */
export type OperationSuite = Suite<OperationScene, OperationStoreCapability>

/** A lease that outlives a test, and one that ends within it. */
export const longLeaseMs = 60_000
export const shortLeaseMs = 50

/** Offsets above 2^53 show a store that rounds them. */
export const from = 9_007_199_254_740_993n

/** Progress before anything was read. */
export const noProgress: OperationProgress = {
  scanned: 0n,
  sent: 0n,
  refused: {},
  mayBeRepeated: 0n,
  remaining: [{ topic: 'orders.DLT', partition: 0, from, until: from + 100n }],
}

const nextId = createUlidGenerator(systemRuntime)

/** Returns a new operation with a fresh id. */
export function newOperation(given: Partial<NewOperation> = {}): NewOperation {
  return {
    id: `op_${nextId()}`,
    type: 'REPLAY',
    target: 'default:shipping',
    state: 'RUNNING',
    by: 'ana',
    reason: 'INC-311',
    request: { filter: { group: '7f3a91c2d0e4' }, limit: 500 },
    plan: { matched: '204' },
    rate: 50,
    progress: noProgress,
    expiresInMs: 86_400_000,
    idempotencyKey: undefined,
    ...given,
  }
}

/** The stores of one test. */
export class OperationScene implements AsyncDisposable {
  readonly subject: OperationsUnderTest
  readonly store: OperationStore
  readonly other: OperationStore

  constructor(subject: OperationsUnderTest) {
    this.subject = subject
    ;[this.store, this.other] = subject.stores
  }

  /** Takes the operation that is there. */
  async take(
    owner = 'shop-1',
    leaseMs: number = longLeaseMs,
    store: OperationStore = this.store,
  ): Promise<TakenOperation> {
    const taken = await store.take(owner, ['REPLAY'], leaseMs)
    assert.ok(taken !== undefined, 'there is an operation to take')
    return taken
  }

  /** Waits until the lease of another runner has expired, and takes the operation. */
  async takeOver(owner = 'shop-2'): Promise<TakenOperation> {
    const taken = await until(
      this.subject.runtime,
      () => this.other.take(owner, ['REPLAY'], longLeaseMs),
      (answer) => answer !== undefined,
    )
    return taken as TakenOperation
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

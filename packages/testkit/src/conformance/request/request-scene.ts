import type { RequestStore } from '@waybill/core/idempotency'
import type { Suite } from '../suite/suite.ts'
import type { RequestsUnderTest } from './request-store-harness.ts'

/** Collects the tests of a part of this suite. */
export type RequestSuite = Suite<RequestScene, never>

/** The time of a mark that outlives a test. */
export const longTtlMs = 60_000

/** The time of a mark that ends within a test. */
export const shortTtlMs = 60

/** The stores of one test. */
export class RequestScene implements AsyncDisposable {
  readonly subject: RequestsUnderTest
  readonly store: RequestStore
  readonly other: RequestStore

  constructor(subject: RequestsUnderTest) {
    this.subject = subject
    ;[this.store, this.other] = subject.stores
  }

  async [Symbol.asyncDispose](): Promise<void> {}
}

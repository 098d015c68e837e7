import type { Suite } from '../suite/suite.ts'
import type { IdempotencyStoreCapability, MarksUnderTest } from './idempotency-store-harness.ts'

/** Collects the tests of a part of this suite. */
export type MarkSuite = Suite<MarkScene, IdempotencyStoreCapability>

/** The marks of one test. */
export class MarkScene implements AsyncDisposable {
  readonly subject: MarksUnderTest

  constructor(subject: MarksUnderTest) {
    this.subject = subject
  }

  async [Symbol.asyncDispose](): Promise<void> {}

  /** Retries after a lost lock, as a record that is delivered again. */
  async untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
    for (let tries = 1; ; tries++) {
      try {
        return await ask()
      } catch (error) {
        if (tries === mostTries) throw error
        await this.subject.runtime.timers.sleep(1)
      }
    }
  }
}

/** Some seconds: the holder of a lock releases it at once. */
const mostTries = 5_000

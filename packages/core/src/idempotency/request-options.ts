import type { Database } from '../database/database.ts'
import { hasMethods } from '../option/has-methods.ts'
import { durationMs, instance, oneOf, optional, type Rule } from '../option/rule.ts'
import type { Runtime } from '../runtime/runtime.ts'
import { runtimeRule } from '../runtime/runtime-rule.ts'
import type { RequestStore } from './request-store.ts'

/** Options of {@link createRequestIdempotency}. */
export interface RequestIdempotencyOptions {
  /** The marks, shared by all nodes that serve the requests. */
  readonly store: RequestStore
  /**
   * How long a request is protected while it runs. After a crash its repeats are rejected for this long, so it should be
   * a little longer than the slowest request.
   * @defaultValue 60000
   */
  readonly inProgressTtlMs?: number | undefined
  /** How long a repeat returns the result of the first request. @defaultValue 86400000, a day */
  readonly completedTtlMs?: number | undefined
  /**
   * The effect of a store that fails: PROCEED runs the request without a mark, so that only `find` and a unique key of
   * the database recognize a repeat. REJECT throws a RequestStoreUnavailableError.
   * @defaultValue `PROCEED`
   */
  readonly onStoreFailure?: 'PROCEED' | 'REJECT' | undefined
  /** The time that a request waits for the store at each step. @defaultValue 500 */
  readonly storeTimeoutMs?: number | undefined
  /**
   * The database of the effects. With it a call inside an open transaction is refused: the mark would say COMPLETED before
   * the commit.
   * @defaultValue none
   */
  readonly database?: Pick<Database<never>, 'ambient'> | undefined
  /** @defaultValue the system's */
  readonly runtime?: Runtime | undefined
}

/** {@link RequestIdempotencyOptions} with defaults applied. */
export interface ResolvedRequestIdempotencyOptions {
  readonly store: RequestStore
  readonly inProgressTtlMs: number
  readonly completedTtlMs: number
  readonly onStoreFailure: 'PROCEED' | 'REJECT'
  readonly storeTimeoutMs: number
  readonly database: Pick<Database<never>, 'ambient'> | undefined
  readonly runtime: Runtime
}

const storeMethods = ['read', 'compareAndSet', 'compareAndDelete']

/** The rules of {@link RequestIdempotencyOptions}. */
export const requestIdempotencyRules: {
  readonly [K in keyof ResolvedRequestIdempotencyOptions]: Rule<ResolvedRequestIdempotencyOptions[K]>
} = {
  store: instance<RequestStore>('a store of requests', (value) =>
    storeMethods.every((name) => hasMethods(value, name)),
  ),
  inProgressTtlMs: durationMs({ default: 60_000, min: 1, because: 'longer than any request that still has a client' }),
  completedTtlMs: durationMs({ default: 86_400_000, min: 1, because: 'clients give up repeating within a day' }),
  onStoreFailure: oneOf(['PROCEED', 'REJECT'], {
    default: 'PROCEED',
    because: 'a unique key in the database still rejects a second effect',
  }),
  storeTimeoutMs: durationMs({
    default: 500,
    min: 1,
    because: 'clients of Redis queue commands while it is down, and a request must not wait for its return',
  }),
  database: optional(
    instance<Pick<Database<never>, 'ambient'>>(
      'a database',
      (value) => typeof value === 'object' && value !== null && 'ambient' in value,
    ),
  ),
  runtime: runtimeRule,
}

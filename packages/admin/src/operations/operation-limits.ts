import { durationMs, integer, nested, number, oneOf, optional, orFalse, type Rule } from '@waybill/core/option'

/** How an operation proceeds: common to all types. */
export interface OperationLimits {
  /** The maximum number of records that take effect. @defaultValue 10,000 */
  readonly limit: number
  /** Records per second. @defaultValue 50 */
  readonly rate: number
  /** The first records, whose outcomes are awaited before any other. @defaultValue none */
  readonly canary: OperationCanary | undefined
  /** Pauses the operation when too many copies fail. @defaultValue `{ failureRate: 0.2, minimum: 20 }` */
  readonly abortWhen: false | AbortRule
}

/** The first records of an operation. */
export interface OperationCanary {
  readonly count: number
  /** The longest wait for their outcomes. */
  readonly settleMs: number
  readonly onSettled: 'PAUSE' | 'CONTINUE'
}

/** Pauses an operation if of at least `minimum` settled copies more than `failureRate` failed. */
export interface AbortRule {
  readonly failureRate: number
  readonly minimum: number
}

/** The rules of {@link OperationLimits}. */
export const limitRules: { readonly [K in keyof OperationLimits]: Rule<OperationLimits[K]> } = {
  limit: integer({ default: 10_000, min: 1, max: 1_000_000, because: 'a mistaken filter must end' }),
  rate: number({ default: 50, min: 0.1, max: 10_000, because: 'handlers serve live traffic, too' }),
  canary: optional(
    nested({
      count: integer({ min: 1, max: 1_000 }),
      settleMs: durationMs({ default: 60_000, min: 0, max: 3_600_000, because: 'a handler answers within a minute' }),
      onSettled: oneOf(['PAUSE', 'CONTINUE'], { default: 'PAUSE', because: 'an operator looks at the outcomes' }),
    }),
  ),
  abortWhen: orFalse(
    nested({
      failureRate: number({ default: 0.2, min: 0, max: 1, because: 'one of five fails for a reason' }),
      minimum: integer({ default: 20, min: 1, because: 'fewer outcomes say little' }),
    }),
    { default: { failureRate: 0.2, minimum: 20 }, because: 'an operation that mostly fails does harm' },
  ),
}

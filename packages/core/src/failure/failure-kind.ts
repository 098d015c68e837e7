import { NonRetryableError } from '../errors.ts'
import { type KnownError, knownChain } from './cause-chain.ts'
import { errorGroups } from './error-groups.ts'
import { anyKnownPredicate, type ErrorMatcher } from './error-matcher.ts'

/**
 * Whether a retry can help: soon (TRANSIENT), only after a while (EXTENDED), never (PERMANENT), or unknown (UNKNOWN).
 */
export type FailureKind = 'TRANSIENT' | 'EXTENDED' | 'PERMANENT' | 'UNKNOWN'

/** The errors whose kind is known without configuration. */
export const knownFailures: Readonly<Record<Exclude<FailureKind, 'UNKNOWN'>, readonly ErrorMatcher[]>> = {
  PERMANENT: [
    NonRetryableError,
    NonRetryableError.code,
    'NonRetryableError',
    ...errorGroups.decoding,
    ...errorGroups.schema,
    'PayloadTooLargeError',
    ...errorGroups.argument,
    ...errorGroups.businessRule,
    // Outputs that fit in no transaction. Matched by code, since the classes belong to another package.
    'WAYBILL_OUTPUTS_TOO_LARGE',
    'WAYBILL_OUTPUT_RECORD_TOO_LARGE',
    'WAYBILL_OUTPUT_UNACCEPTABLE',
    'WAYBILL_NOT_TRANSACTIONAL',
  ],
  EXTENDED: [...errorGroups.circuitOpen, ...errorGroups.unavailable],
  TRANSIENT: [...errorGroups.connection, ...errorGroups.timeout, ...errorGroups.conflict],
}

const kindsOfOne = (['PERMANENT', 'EXTENDED', 'TRANSIENT'] as const).map((kind) => ({
  kind,
  matches: anyKnownPredicate(knownFailures[kind]),
}))

/**
 * The kind of anything thrown. Errors are asked from the outside in: code that wraps an error knows more than the error
 * it wraps.
 */
export function failureKindOf(thrown: unknown): FailureKind {
  return failureKindIn(knownChain(thrown))
}

/** {@link failureKindOf} for callers that already have the chain of causes. */
export function failureKindIn(chain: readonly KnownError[]): FailureKind {
  for (const error of chain) {
    const known = kindsOfOne.find(({ matches }) => matches(error))
    if (known !== undefined) return known.kind
  }
  return 'UNKNOWN'
}

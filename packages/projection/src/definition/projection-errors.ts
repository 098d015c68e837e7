import { type ErrorContext, NonRetryableError, StateError, WaybillError } from '@waybill/core'
import type { RowDifference } from './row-difference.ts'

/** A version that is not the next one of its aggregate: events before it are missing. */
export class VersionGapError extends NonRetryableError {
  static override readonly code = 'WAYBILL_PROJECTION_VERSION_GAP'
  readonly key: string
  readonly expected: number
  readonly found: number

  constructor(projection: string, key: string, expected: number, found: number) {
    super(`Projection ${projection}: expected version ${expected} of ${JSON.stringify(key)}, found ${found}`, {
      impact:
        'The event was not applied. It and all later events of this key become dead letters; other keys continue.',
      hint: 'Find the missing events, then release the key with the quarantine of the projection.',
    })
    this.key = key
    this.expected = expected
    this.found = found
  }
}

/** An event of a key that is quarantined: an earlier event of the key is missing or cannot be applied. */
export class KeyQuarantinedError extends NonRetryableError {
  static override readonly code = 'WAYBILL_PROJECTION_KEY_QUARANTINED'
  readonly key: string

  constructor(projection: string, key: string) {
    super(`Projection ${projection}: key ${JSON.stringify(key)} is quarantined`, {
      impact: 'The event was not applied. It is a dead letter until the key is released; other keys continue.',
      hint: 'List and release the key with the quarantine of the projection.',
    })
    this.key = key
  }
}

/** A record that a projection cannot read: no key, no version, unknown type, or an invalid payload. */
export class ProjectionInputError extends NonRetryableError {
  static override readonly code = 'WAYBILL_PROJECTION_INPUT_INVALID'

  constructor(projection: string, problem: string, context: Pick<ErrorContext, 'cause'> = {}) {
    super(`Projection ${projection}: ${problem}`, {
      ...context,
      impact: 'The event was not applied. It becomes a dead letter.',
      hint: 'Correct its producer, then replay the dead letter.',
    })
  }
}

/** A fold threw. It is pure, so it would throw again: the key is quarantined. */
export class FoldFailedError extends NonRetryableError {
  static override readonly code = 'WAYBILL_PROJECTION_FOLD_FAILED'
  readonly key: string

  constructor(projection: string, eventName: string, key: string, cause: unknown) {
    super(`Projection ${projection}: the fold of ${eventName} failed for key ${JSON.stringify(key)}`, {
      cause,
      impact:
        'The event was not applied. It and all later events of this key become dead letters; other keys continue.',
      hint: 'Correct the fold, then release the key with the quarantine of the projection.',
    })
    this.key = key
  }
}

/** A stored row does not match the schema of the projection's state. */
export class ProjectionStateError extends StateError {
  static override readonly code = 'WAYBILL_PROJECTION_ROW_INVALID'
}

/** The live table belongs to another revision, for which this process has no fold. */
export class RevisionMismatchError extends StateError {
  static override readonly code = 'WAYBILL_PROJECTION_REVISION_MISMATCH'

  constructor(projection: string, live: number, known: readonly number[]) {
    super(`Projection ${projection}: the live table has revision ${live}, and this process knows ${known.join(', ')}`, {
      impact: 'Nothing was applied. The partition waits; no event is lost.',
      hint:
        live > Math.max(...known)
          ? 'Stop this process: a newer release has taken over.'
          : 'Pass the former projection in `previous` until a rebuild has switched to the new revision.',
    })
  }
}

/** A rebuild that could not be complete. It is refused before anything is written. */
export class RebuildRefusedError extends WaybillError {
  static override readonly code = 'WAYBILL_PROJECTION_REBUILD_REFUSED'
}

/** A rebuild that stopped: an event is missing, or the new table differs from the live one. */
export class RebuildFailedError extends WaybillError {
  static override readonly code = 'WAYBILL_PROJECTION_REBUILD_FAILED'
  /** The first rows that differ, at most a hundred; empty if it failed for another reason. */
  declare readonly differences: readonly RowDifference[]

  constructor(
    message: string,
    { differences = [], ...context }: ErrorContext & { readonly differences?: readonly RowDifference[] } = {},
  ) {
    super(message, context)
    // Not enumerable: rows do not belong into a log.
    Object.defineProperty(this, 'differences', { value: differences })
  }
}
